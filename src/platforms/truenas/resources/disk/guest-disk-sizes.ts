import type { Facts } from '../../../../engine/platform.ts';
import type { Vm } from '../../api/schema.ts';
import { isVmActive } from '../machine-scope.ts';

/**
 * The sizes in bytes that the running guest saw when its disks were about to be grown. TrueNAS does not tell it of new ones: QEMU looks
 * when it is started, and a reboot from within starts no QEMU. So this holds as long as its process is the same.
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

/** As it is written down before disks are grown, e.g. `4001 tank/talos/shop_cp_0_abcdefgh/boot:42949672960`. What was seen first counts. */
export function toGuestDiskSizesFact(facts: Facts, vm: Vm, sizes: Iterable<readonly [string, number]>): Facts {
  const { pid } = vm.status;
  if (!isVmActive(vm) || typeof pid !== 'number') return {};
  const all = new Map([...sizes, ...parseGuestDiskSizes(facts, vm)]);
  return { guestSees: [pid, ...[...all].map(([zvol, bytes]) => `${zvol}:${bytes}`)].join(' ') };
}
