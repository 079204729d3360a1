import { describe, expect, it } from 'vitest';
import { aMachine, anInstance, aSpec } from '../../../../test/support/fixtures/builders.ts';
import { aClusterView, anEndpoint, someSecrets } from '../../../../test/support/fixtures/cluster-views.ts';
import { ManualClock } from '../../../../test/support/manual-clock.ts';
import type { Machine } from '../../../api/machine.ts';
import { labels, machineName } from '../../../api/names.ts';
import { ProcessConnectionCache } from '../../../engine/connection-cache.ts';
import type { Node } from '../../../kube/drain/kinds.ts';
import { noLog } from '../../../lib/log.ts';
import { TrueNasError } from '../../../platforms/truenas/error-codes.ts';
import { truenas } from '../../../platforms/truenas/index.ts';
import type { Services } from '../../shared/services.ts';
import { clusterOrphansOf } from './orphan-memory.ts';
import { removeOrphanNodes } from './remove-orphan-nodes.ts';

const { signal } = new AbortController();
const ref = { namespace: 'team', name: 'prod', uid: 'cluster-uid' };
const name = machineName(ref, 'work', 7);
const aNode = (ready = 'Unknown', change: Partial<Node['metadata']> = {}): Node => ({
  ...{ apiVersion: 'v1', kind: 'Node' },
  metadata: { name, uid: 'n1', resourceVersion: '5', labels: { [labels.pool]: 'work' }, ...change },
  spec: { providerID: 'truenas://nas.example.org/3f0e' },
  status: { conditions: [{ type: 'Ready', status: ready }] },
});

/** A Node without a Machine, which a test may change between two looks. */
function createFixture() {
  const clock = new ManualClock();
  const told = {
    node: aNode() as Node | undefined,
    unready: [name],
    /** Machines of the cache, and those that only the API server has. */
    machines: [] as Machine[],
    unseen: [] as Machine[],
    hosts: [] as object[],
    hasCredentials: true,
    remains: async (): Promise<readonly object[]> => [],
  };
  const [calls, events]: [string[], string[]] = [[], []];
  const client = {
    find: async () => {
      calls.push('find');
      return told.node;
    },
    remove: async (_: unknown, key: { name: string }, options: object) => {
      calls.push(`remove ${key.name} ${JSON.stringify(options)}`);
      return true;
    },
  };
  const services = {
    ...{ ...anInstance, installation: 'installation-1', clock, connections: new ProcessConnectionCache() },
    platforms: [{ ...truenas, garbage: { orphans: { find: () => told.remains(), remove: [] } } }],
    targets: { client: async () => client },
    nodes: { listUnready: () => told.unready },
    stores: {
      machines: {
        isSynced: true,
        list: () => told.machines,
        get: (key: { name: string }) => told.machines.find(({ metadata }) => metadata.name === key.name),
      },
      hosts: { list: () => told.hosts },
      secrets: { get: () => (told.hasCredentials ? { data: {} } : undefined) },
    },
    kube: { list: async () => ({ items: [...told.machines, ...told.unseen] }) },
    events: { record: (...[, , reason, text]: string[]) => void events.push(`${reason}: ${text}`) },
  } as unknown as Services;
  const view = aClusterView({
    ...{ ref, endpoint: anEndpoint, spec: aSpec(), proof: { ok: true, version: '1.35.4' } },
    secrets: someSecrets({ bootstrappedAt: '2026-11-21T09:00:00Z' }),
  });
  const look = async () =>
    await removeOrphanNodes(services, view, clusterOrphansOf(services, ref.uid), { signal, log: noLog });
  return {
    ...{ told, calls, events, clock, look },
    removals: () => calls.filter((call) => call.startsWith('remove')),
    async looks(seconds: readonly number[]) {
      let next: number | undefined;
      for (const at of seconds) {
        await clock.advance(at * 1000 - clock.monotonic());
        next = await look();
      }
      return next;
    },
  };
}
type Fixture = ReturnType<typeof createFixture>;
const minute = [0, 20, 40, 60];

describe('D37: a Node without a Machine', () => {
  it('is removed after a minute in the version that was read, and reported', async () => {
    const fixture = createFixture();
    await fixture.looks([0, 20, 40]);
    expect(fixture.removals()).toEqual([]);
    await fixture.looks([60]);
    expect(fixture.removals()).toEqual([`remove ${name} {"uid":"n1","resourceVersion":"5"}`]);
    expect(fixture.events).toEqual([
      `OrphanNodeRemoved: The Node ${name} was removed: it was not ready, and has no Machine.`,
    ]);
  });

  it('has its minute anew if it was Ready for one look, or is another one since', async () => {
    const fixture = createFixture();
    await fixture.looks([0, 20]);
    fixture.told.unready = [];
    await fixture.looks([40]);
    fixture.told.unready = [name];
    await fixture.looks([60, 80]);
    fixture.told.node = aNode('Unknown', { uid: 'n2' });
    await fixture.looks([100, 120, 140]);
    expect(fixture.removals()).toEqual([]);
  });

  it.each<[string, (told: Fixture['told']) => void]>([
    ['a Machine of its name was just created', (told) => told.unseen.push(aMachine(7, [], 'work'))],
    [
      'its machine runs',
      (told) => {
        told.remains = async () => [{ machine: name, isRunning: true }];
      },
    ],
    [
      'its platform does not answer',
      (told) => {
        told.remains = async () => Promise.reject(new TrueNasError('TRUENAS_UNREACHABLE'));
      },
    ],
    [
      'the credentials of its platform are missing',
      (told) => {
        told.hasCredentials = false;
      },
    ],
    [
      'a Host is still held by its Machine',
      (told) => told.hosts.push({ metadata: { name: 'h' }, status: { state: 'Failed', machineRef: { name } } }),
    ],
    [
      'it is Ready by then',
      (told) => {
        told.remains = async () => {
          told.node = aNode('True');
          return [];
        };
      },
    ],
    [
      'it is another one by then',
      (told) => {
        told.remains = async () => {
          told.node = aNode('Unknown', { uid: 'n2' });
          return [];
        };
      },
    ],
  ])('stays if %s, and is looked at again later', async (_, change) => {
    const fixture = createFixture();
    change(fixture.told);
    expect(await fixture.looks(minute)).toBe(300);
    expect(fixture.removals()).toEqual([]);
    expect(fixture.events).toEqual([]);
  });

  it('is removed when its machine is stopped', async () => {
    const fixture = createFixture();
    fixture.told.remains = async () => [{ machine: name, isRunning: false }];
    await fixture.looks(minute);
    expect(fixture.removals()).toHaveLength(1);
  });

  it('causes no call where every Node is Ready or has a Machine', async () => {
    const fixture = createFixture();
    fixture.told.machines.push(aMachine(7, [], 'work'));
    expect(await fixture.looks(minute)).toBeUndefined();
    fixture.told.machines.splice(0);
    fixture.told.unready = [];
    expect(await fixture.looks([80, 100])).toBeUndefined();
    expect(fixture.calls).toEqual([]);
  });
});
