import { describe, expect, it } from 'vitest';
import { aCondition, aSpec } from '../../test/support/fixtures/builders.ts';
import { aScalablePool, aWorker, naming } from '../../test/support/fixtures/scalable-pools.ts';
import type { Host } from '../api/host.ts';
import type { Machine } from '../api/machine.ts';
import { group, version } from '../api/names.ts';
import type { Services } from '../controllers/shared/services.ts';
import { platforms } from '../platforms/index.ts';
import { findCapacity } from './capacity.ts';
import type { ScalablePool } from './node-groups.ts';

const aHost = (serverID: number, holder?: Machine, more: object = {}): Host => ({
  ...{ apiVersion: `${group}/${version}`, kind: 'Host', metadata: { name: `host-${serverID}` } },
  spec: { serverID: `${serverID}`, hetznerRobot: {}, expect: { product: 'AX42' }, ...more } as unknown as Host['spec'],
  status: {
    ...{ observedGeneration: 1, state: holder ? 'Provisioned' : 'Available', conditions: [] },
    ...(holder && {
      machineRef: { name: holder.metadata.name, uid: holder.metadata.uid ?? '', since: '2026-11-21T09:00:00Z' },
    }),
  },
});

function capacity(pool: ScalablePool, { hosts = [] as Host[], held = [] as [string, string][] } = {}) {
  const stores = {
    hosts: {
      list: () => hosts,
      by: (_: string, uid: string) => hosts.filter(({ status }) => status?.machineRef?.uid === uid),
    },
    providerConfigs: { list: () => [] },
  };
  return findCapacity({ stores, platforms } as unknown as Services, pool, new Map(held));
}

const workers = [aWorker(0), aWorker(1)];
const leaseOf = ({ metadata }: Machine, last: number): [string, string] => [
  `192.168.10.${last}`,
  `machine/${metadata.name}`,
];

describe('D59: how many more nodes a pool can be given', () => {
  it('is what maxReplicas leaves', () => {
    const held = workers.map((one, i) => leaseOf(one, 20 + i));
    expect(capacity(aScalablePool(workers, { limits: { min: 0, max: 5 } }), { held })).toEqual({
      more: 3,
      reason: 'maxReplicas of the worker pool work is 5. Raise it in the ProviderConfig or ClusterConfig.',
    });
  });

  describe('of addresses', () => {
    const spec = aSpec((raw) => {
      Object.assign(raw['network'] as object, { addressPool: ['192.168.10.20-192.168.10.25'] });
    });
    const other: [string, string] = ['192.168.10.25', 'cluster/team/other'];

    it('is the number of free ones', () => {
      const held = [...workers.map((one, i) => leaseOf(one, 20 + i)), other];
      expect(capacity(aScalablePool(workers, { spec }), { held })).toEqual({
        more: 3,
        reason: '3 addresses of network.addressPool (192.168.10.20-192.168.10.25) are free. Add addresses.',
      });
    });

    it('is less by the nodes that were asked for and have none yet', () => {
      expect(capacity(aScalablePool(workers, { spec, target: 4 }), { held: [other] }).more).toBe(1);
      expect(capacity(aScalablePool(workers, { spec, target: 8 }), { held: [other] }).more).toBe(0);
    });
  });

  describe('of Hosts', () => {
    const spec = aSpec((raw) => {
      delete raw['truenas'];
      raw['hetznerRobot'] = { credentialsRef: { name: 'robot' }, sizes: [{ name: 'small', hostSelector: {} }] };
      raw['network'] = { nameServers: ['192.0.2.1'] };
    });
    const pool = aScalablePool(workers, { spec });
    const used = workers.map((worker, i) => aHost(i + 1, worker));

    it('is the number of free ones for workers', () => {
      const hosts = [...used, aHost(3), aHost(4), aHost(5, undefined, { roles: ['controlplane'] })];
      expect(capacity(pool, { hosts })).toEqual({
        more: 2,
        reason: '2 Hosts of the size small for workers are free. Add Hosts, or choose others in the size.',
      });
    });

    it('is less by the nodes that were asked for and hold none yet', () => {
      expect(capacity({ ...pool, target: 4 }, { hosts: [...used, aHost(3), aHost(4), aHost(5)] }).more).toBe(1);
    });

    it('does not count a Host that is held by a Machine to be deleted', () => {
      const leaving = naming({ ...pool, target: 1 }, workers[0] ?? aWorker(0));
      expect(capacity(leaving, { hosts: [...used, aHost(3)] }).more).toBe(1);
    });
  });

  it('is none while a Machine of the pool waits for what its platform does not have', () => {
    const waiting = aWorker(2);
    const condition = {
      ...aCondition('Provisioned', 'False'),
      reason: 'InsufficientMemory',
      message: 'It needs 8 GiB.',
    };
    const short = { ...waiting, status: { ...waiting.status!, conditions: [condition] } };
    const held = [...workers, short].map((one, i) => leaseOf(one, 20 + i));
    const pool = aScalablePool([...workers, short]);
    expect(capacity(pool, { held })).toEqual({
      more: 0,
      reason: expect.stringMatching(/^prod-\w+-work-2 waits: It needs 8 GiB\.$/),
    });
    expect(capacity(naming({ ...pool, target: 2 }, short), { held }).more).toBe(7);
  });
});
