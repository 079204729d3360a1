import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import type { NasState } from '../nas-state.ts';
import { fileModeOf, realPath } from '../storage/dataset-files.ts';
import { describeDevice, vmStatusOf } from '../vm/vm-runtime.ts';

/** The whole state as plain data, without job numbers, next ids and sessions. */
export interface StateDump {
  readonly pools: readonly object[];
  readonly datasets: readonly object[];
  readonly files: readonly object[];
  readonly vms: readonly object[];
  readonly devices: readonly object[];
  readonly interfaces: readonly object[];
  readonly keys: readonly object[];
}

/** Everything on the NAS in a fixed order, so that equal states give equal texts. */
export function dumpState(nas: NasState): StateDump {
  return {
    pools: [...nas.pools.values()].map((pool) => ({ ...pool })),
    datasets: [...nas.datasets.values()]
      .sort((a, b) => (a.id < b.id ? -1 : 1))
      .map((dataset) => ({
        id: dataset.id,
        type: dataset.type,
        properties: sorted(dataset.properties),
        userProperties: sorted(dataset.userProperties),
        createdAt: dataset.createdAt.toISOString(),
        encryption: dataset.encryption && { ...dataset.encryption, secret: '[secret]' },
      })),
    files: listFiles(nas, '/mnt'),
    vms: [...nas.vms.values()].map((vm) => ({ id: vm.id, ...vm.row, state: vmStatusOf(nas, vm)['state'] })),
    devices: [...nas.devices.values()].map((device) => ({ ...describeDevice(device), storedOrder: device.order })),
    interfaces: [...nas.links.values()].map((link) => ({ ...link })),
    keys: nas.keys.map(({ id, user, expiresAt, revokedReason }) => ({
      id,
      user,
      expiresAt: expiresAt?.toISOString() ?? null,
      revokedReason,
    })),
  };
}

const sorted = (map: ReadonlyMap<string, string>) => Object.fromEntries([...map].sort(([a], [b]) => (a < b ? -1 : 1)));

function listFiles(nas: NasState, path: string): object[] {
  return readdirSync(realPath(nas, path), { withFileTypes: true })
    .sort((a, b) => (a.name < b.name ? -1 : 1))
    .flatMap((item) => {
      const inner = `${path}/${item.name}`;
      const mark = fileModeOf(nas, inner, item.isDirectory());
      if (item.isDirectory()) return [{ path: inner, ...mark }, ...listFiles(nas, inner)];
      const content = readFileSync(realPath(nas, inner));
      const sha256 = createHash('sha256').update(content).digest('hex');
      return [{ path: inner, size: statSync(realPath(nas, inner)).size, sha256, ...mark }];
    });
}
