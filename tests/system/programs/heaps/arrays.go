// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A Go heap of large slices and many small nodes, which are filled, dropped, collected and read again. Prints sums. With C in it the
// program is linked dynamically, and its heap is mapped by the C library.
//
//	arrays MIB
package main

// static long twice(long x) { return 2 * x; }
import "C"

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
)

type node struct {
	next *node
	data [6]uint64
}

func fill(words int, seed uint64) []uint64 {
	data := make([]uint64, words)
	for i := range data {
		seed = seed*6364136223846793005 + 1442695040888963407
		data[i] = seed
	}
	return data
}

func sum(data []uint64) (total uint64) {
	for _, word := range data {
		total += word
	}
	return
}

func main() {
	mib, err := strconv.Atoi(os.Args[1])
	if err != nil {
		panic(err)
	}
	parts := make([][]uint64, 4)
	for round := 0; round < 2; round++ {
		for i := range parts {
			parts[i] = nil
			runtime.GC()
			parts[i] = fill(mib<<20/8/len(parts), uint64(round*10+i))
		}
	}
	var list *node
	for i := 0; i < 100000; i++ {
		list = &node{next: list, data: [6]uint64{uint64(i)}}
	}
	for _, part := range parts {
		fmt.Println(sum(part))
	}
	total := 0
	for ; list != nil; list = list.next {
		total += int(list.data[0])
	}
	fmt.Println(total, C.twice(21))
}
