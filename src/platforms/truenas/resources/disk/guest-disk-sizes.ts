import type { Facts } from '../../../../engine/step.ts';
import type { Vm } from '../../api/schema.ts';
import { isVmActive } from '../machine-scope.ts';

/**
 * The sizes in bytes that the running guest saw before its disks were grown. QEMU reads sizes only at its start, and a
 * reboot by the guest does not restart it. So the sizes are valid while the process is the same.
 */
export function parseGuestDiskSizes(facts: Facts, { status }: Vm): ReadonlyMap<string, number> {
  const [pid, ...disks] = String(facts['guestSees'] ?? '').split(' ');
  if (pid === undefined || pid !== String(status.pid)) return new Map();
  return new Map(
    disks.map((disk) => {
      const at = disk.lastIndexOf(':');
      return [disk.slice(0, at), Number(disk.slice(at + 1))] as const;
    }),
  );
}

/**
 * The fact that is recorded before disks are grown, e.g. `4001 tank/talos/shop_cp_0_abcdefgh/boot:42949672960`. The
 * first recorded size of a disk counts.
 */
export function toGuestDiskSizesFact(facts: Facts, vm: Vm, sizes: Iterable<readonly [string, number]>): Facts {
  const { pid } = vm.status;
  if (!isVmActive(vm) || typeof pid !== 'number') return {};
  const all = new Map([...sizes, ...parseGuestDiskSizes(facts, vm)]);
  return { guestSees: [pid, ...[...all].map(([zvol, bytes]) => `${zvol}:${bytes}`)].join(' ') };
}
