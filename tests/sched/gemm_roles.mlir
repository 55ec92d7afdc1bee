// A producer and a consumer: `load` puts tiles of A and B into channels of depth 2, `compute`
// takes them, multiplies and stores.
tile.kernel @gemm(%a: !tile.view<?x?xf32, in>, %b: !tile.view<?x?xf32, in>,
                  %c: !tile.view<?x?xf32, out>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %m = tile.dim %c, 0 : !tile.view<?x?xf32, out>
  %n = tile.dim %c, 1 : !tile.view<?x?xf32, out>
  %k = tile.dim %a, 1 : !tile.view<?x?xf32, in>
  %gm = arith.ceildivsi %m, %c16 : index
  %gn = arith.ceildivsi %n, %c16 : index
  tile.grid %gn, %gm, %c1
  %px = tile.program_id 0
  %py = tile.program_id 1
  %row = arith.muli %py, %c16 : index
  %col = arith.muli %px, %c16 : index
  %qa = sched.make_channel : !sched.channel<2, tensor<16x16xf32>>
  %qb = sched.make_channel : !sched.channel<2, tensor<16x16xf32>>
  sched.roles {
    sched.role "load" {
      scf.for %i = %c0 to %k step %c16 {
        %ta = tile.load %a[%row, %i] : !tile.view<?x?xf32, in> -> tensor<16x16xf32>
        sched.put %ta, %qa : tensor<16x16xf32>, !sched.channel<2, tensor<16x16xf32>>
        %tb = tile.load %b[%i, %col] : !tile.view<?x?xf32, in> -> tensor<16x16xf32>
        sched.put %tb, %qb : tensor<16x16xf32>, !sched.channel<2, tensor<16x16xf32>>
      }
    }
    sched.role "compute" {
      %zero = arith.constant dense<0.0> : tensor<16x16xf32>
      %acc = scf.for %i = %c0 to %k step %c16 iter_args(%sum = %zero) -> tensor<16x16xf32> {
        %ta = sched.get %qa : !sched.channel<2, tensor<16x16xf32>> -> tensor<16x16xf32>
        %tb = sched.get %qb : !sched.channel<2, tensor<16x16xf32>> -> tensor<16x16xf32>
        %next = tile.dot %ta, %tb, %sum : tensor<16x16xf32>, tensor<16x16xf32>, tensor<16x16xf32> -> tensor<16x16xf32>
        scf.yield %next : tensor<16x16xf32>
      }
      tile.store %acc, %c[%row, %col] : tensor<16x16xf32>, !tile.view<?x?xf32, out>
    }
  }
}
