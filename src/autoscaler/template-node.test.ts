import { fromBinary } from '@bufbuild/protobuf';
import { describe, expect, it } from 'vitest';
import { aSpec } from '../../test/support/fixtures/builders.ts';
import { aScalablePool } from '../../test/support/fixtures/scalable-pools.ts';
import type { Host } from '../api/host.ts';
import { group, labels, version } from '../api/names.ts';
import type { Services } from '../controllers/shared/services.ts';
import { TemplateNodeSchema } from './gen/node_pb.ts';
import type { ScalablePool } from './node-groups.ts';
import { encodeTemplateNode } from './template-node.ts';

function template(pool: ScalablePool, hosts: readonly Host[] = []) {
  const bytes = encodeTemplateNode({ stores: { hosts: { list: () => hosts } } } as unknown as Services, pool);
  return bytes && fromBinary(TemplateNodeSchema, bytes);
}
const valuesOf = (list: Readonly<Record<string, { readonly string?: string }>> | undefined) =>
  Object.fromEntries(Object.entries(list ?? {}).map(([name, { string }]) => [name, string]));

describe('D58: the node that a pool without nodes would get', () => {
  const plain = aScalablePool([]);

  it('has labels and taints of the pool', () => {
    const taint = { key: 'gpu', value: 'yes', effect: 'NoSchedule' } as const;
    const found = template({ ...plain, workers: { ...plain.workers, labels: { disk: 'nvme' }, taints: [taint] } });
    expect(found?.metadata?.labels).toEqual({
      'kubernetes.io/hostname': found?.metadata?.name,
      'kubernetes.io/os': 'linux',
      'kubernetes.io/arch': 'amd64',
      [labels.pool]: 'work',
      'node.kubernetes.io/instance-type': '2cpu-4096mib',
      disk: 'nvme',
    });
    expect(found?.spec?.taints).toEqual([expect.objectContaining(taint)]);
    expect(found?.status?.conditions).toEqual([expect.objectContaining({ type: 'Ready', status: 'True' })]);
  });

  it('has the resources of its size, without what the system needs', () => {
    const { capacity, allocatable } = template(plain)?.status ?? {};
    expect(valuesOf(capacity)).toMatchObject({ cpu: '2000m', pods: '110' });
    expect(valuesOf(allocatable)).toMatchObject({ cpu: '1950m', pods: '110' });
    const memory = [capacity, allocatable].map((list) => Number(valuesOf(list)['memory']) / 2 ** 20);
    expect(memory).toEqual([3868, 3384]);
    const disk = [capacity, allocatable].map((list) => Number(valuesOf(list)['ephemeral-storage']) / 2 ** 30);
    expect(disk.map(Math.round)).toEqual([38, 34]);
  });

  describe('of bare servers', () => {
    const spec = aSpec((raw) => {
      delete raw['truenas'];
      raw['hetznerRobot'] = {
        credentialsRef: { name: 'robot' },
        sizes: [{ name: 'small', hostSelector: { matchLabels: { use: 'work' } } }],
      };
      raw['network'] = { nameServers: ['192.0.2.1'] };
    });
    const disk = { name: 'sda', model: 'm', serial: 's', wwn: '', sizeBytes: 512e9, type: 'ssd', holds: [] };
    const aHost = (threads: number, state = 'Available', use = 'work', isInspected = true) =>
      ({
        ...{ apiVersion: `${group}/${version}`, kind: 'Host', metadata: { name: `h${threads}`, labels: { use } } },
        spec: { serverID: `${threads}`, hetznerRobot: {}, expect: { product: 'AX42' }, wipe: true },
        status: {
          ...{ observedGeneration: 1, state, conditions: [] },
          ...(isInspected && {
            hardware: {
              ...{ cpu: { model: 'c', threads }, memoryMiB: threads * 4096, firmware: 'uefi', nics: [], disks: [disk] },
              inspectedAt: '2026-11-21T09:00:00Z',
            },
          }),
        },
      }) as unknown as Host;
    const cpusOf = (...hosts: Host[]) =>
      valuesOf(template(aScalablePool([], { spec }), hosts)?.status?.capacity)['cpu'];

    it('is the smallest free one that fits', () => {
      expect(cpusOf(aHost(16), aHost(8), aHost(4, 'Provisioned'), aHost(2, 'Available', 'other'))).toBe('8000m');
    });
    it('is one in use, if none is free', () => {
      expect(cpusOf(aHost(16, 'Provisioned'))).toBe('16000m');
    });
    it('is not known before an inspection', () => {
      expect(cpusOf(aHost(16, 'Available', 'work', false))).toBeUndefined();
    });
  });
});
