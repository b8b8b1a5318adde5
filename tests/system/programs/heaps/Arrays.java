// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// java Arrays PARTS: arrays of 2 MiB each are filled and gone through, then small ones are made and forgotten. Prints sums, and
// that a null reference is found, for which the virtual machine handles the segmentation fault itself.
public class Arrays {
  public static void main(String[] words) {
    double[][] parts = new double[Integer.parseInt(words[0])][];
    for (int i = 0; i < parts.length; i++) {
      parts[i] = new double[1 << 18];
      for (int j = 0; j < parts[i].length; j++) parts[i][j] = i * 31 + j;
    }
    double sum = 0;
    for (double[] part : parts)
      for (int j = 0; j < part.length; j++) sum += part[j] = part[j] * 0.5 + 1;
    int[][] kept = new int[50000][];
    for (int i = 0; i < 300000; i++) kept[i * 7 % kept.length] = new int[] {i, i + 1, i + 2};
    long small = 0;
    for (int[] each : kept) small += each[1];
    System.out.println(sum + " " + small);
    for (int i = 0; i < 3; i++) {
      int[] none = i < 3 ? null : kept[i];
      try {
        System.out.println(none[i]);
      } catch (NullPointerException e) {
        System.out.println("caught");
      }
    }
  }
}
