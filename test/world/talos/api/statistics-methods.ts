import type { ServiceImpl } from '@connectrpc/connect';
import type { MachineService } from '../../../../src/talos/gen/machine_pb.ts';
import type { TalosNode } from '../node.ts';

/** Statistics of the machine: plausible values for clients that display them. */
export function statisticsMethods(node: TalosNode): Partial<ServiceImpl<typeof MachineService>> {
  const total = BigInt(node.machine.memoryMiB) * 1024n;
  return {
    systemStat: () => ({ messages: [{ bootTime: BigInt(Math.floor(node.bootedAt.getTime() / 1000)) }] }),
    memory: () => ({
      messages: [{ meminfo: { memtotal: total, memfree: total / 2n, memavailable: (total * 2n) / 3n } }],
    }),
    loadAvg: () => ({ messages: [{ load1: 0.2, load5: 0.2, load15: 0.1 }] }),
    containers: () => ({ messages: [{ containers: [] }] }),
  };
}
