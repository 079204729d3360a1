import { describe, expect, it } from 'vitest';
import { aMachine, anInstance, aSpec } from '../../../../test/support/fixtures/builders.ts';
import { aClusterView, anEndpoint, ready, someSecrets } from '../../../../test/support/fixtures/cluster-views.ts';
import { ManualClock } from '../../../../test/support/manual-clock.ts';
import type { Machine } from '../../../api/machine.ts';
import { ProcessConnectionCache } from '../../../engine/connection-cache.ts';
import { ProviderError } from '../../../lib/errors.ts';
import { noLog } from '../../../lib/log.ts';
import type { Services } from '../../shared/services.ts';
import { clusterOrphansOf } from './orphan-memory.ts';
import { removeOrphanMembers } from './remove-orphan-members.ts';

const { signal } = new AbortController();
const orphan = { id: 'ff', name: 'old', peerUrls: ['https://192.168.10.99:2380'], learner: false };

function settled(slot: number): Machine {
  const machine = aMachine(slot, ready);
  Object.assign(machine.status?.progress ?? {}, { finishedAt: '2026-11-21T09:10:00Z' });
  return machine;
}

/** Three control planes and an orphan, which a test may change between two looks. */
function createFixture() {
  const clock = new ManualClock();
  const machines = [0, 1, 2].map(settled);
  const told = {
    /** Members beside those of the control planes. */
    others: [orphan],
    /** The address of a control plane that does not answer. */
    silent: '',
    /** Machines that the API server has and the cache lacks. */
    unseen: [] as Machine[],
    /** Called with each call, before it is answered. */
    before: (_call: string) => {},
  };
  const [calls, events]: [string[], string[]] = [[], []];
  const idOf = (address: string) => `id-${address}`;
  const talos = (_: unknown, address: string) => {
    const answer = <T>(call: string, value: () => T) => {
      told.before(call);
      calls.push(call);
      if (address === told.silent) throw new ProviderError('TALOS_UNREACHABLE', 'no answer.');
      return value();
    };
    const members = () => [
      ...machines.map(({ metadata, status }) => ({
        ...{ id: idOf(String(status?.progress?.facts['address'])), name: metadata.name, learner: false },
        peerUrls: [`https://${status?.progress?.facts['address']}:2380`],
      })),
      ...told.others,
    ];
    const status = { memberId: idOf(address), leaderId: 'aa', learner: false, errors: [], databaseBytes: 1 };
    return {
      etcdMembers: async () => answer('list', members),
      etcdHealth: async () => answer('health', () => ({ status, members: members(), alarms: [] })),
      removeEtcdMember: async (id: string) => answer(`remove ${id}`, () => undefined),
      close: async () => {},
    };
  };
  const servicesOf = () =>
    ({
      ...{ ...anInstance, clock, connections: new ProcessConnectionCache(), targets: { talos } },
      stores: { machines: { list: () => machines } },
      kube: { list: async () => ({ items: [...machines, ...told.unseen] }) },
      events: { record: (...[, , reason, text]: string[]) => void events.push(`${reason}: ${text}`) },
    }) as unknown as Services;
  let services = servicesOf();
  const view = aClusterView({
    endpoint: anEndpoint,
    machines,
    proof: { ok: true, version: '1.35.4' },
    secrets: someSecrets({ bootstrappedAt: '2026-11-21T09:00:00Z' }),
    spec: aSpec(),
  });
  // A process that has seen the cluster before it had control planes looks at once.
  const begin = () => clusterOrphansOf(services, view.ref.uid).schedule.secondsUntilLook([], false);
  begin();
  const look = async () =>
    await removeOrphanMembers(services, view, clusterOrphansOf(services, view.ref.uid), { signal, log: noLog });
  return {
    ...{ machines, told, calls, events, clock, look },
    removals: () => calls.filter((call) => call.startsWith('remove')),
    restart: () => {
      services = servicesOf();
      begin();
    },
    async looks(seconds: readonly number[]) {
      for (const at of seconds) {
        await clock.advance(at * 1000 - clock.monotonic());
        await look();
      }
    },
  };
}

describe('D36: a member of etcd without a Machine', () => {
  it('is removed by its id after a minute, and reported', async () => {
    const fixture = createFixture();
    await fixture.looks([0, 20, 40]);
    expect(fixture.removals()).toEqual([]);
    await fixture.looks([60]);
    expect(fixture.removals()).toEqual(['remove ff']);
    expect(fixture.events).toEqual([
      'OrphanMemberRemoved: The member old (ff) of etcd at https://192.168.10.99:2380 was removed: it belonged to no Machine.',
    ]);
  });

  it('is looked for again soon while there is one', async () => {
    const fixture = createFixture();
    expect(await fixture.look()).toBe(20);
    await fixture.clock.advance(5000);
    const before = fixture.calls.length;
    expect(await fixture.look()).toBe(15);
    expect(fixture.calls).toHaveLength(before);
  });

  it('has its minute anew after a restart of the provider', async () => {
    const fixture = createFixture();
    await fixture.looks([0, 20, 40]);
    fixture.restart();
    await fixture.looks([60, 80, 100]);
    expect(fixture.removals()).toEqual([]);
    await fixture.looks([120]);
    expect(fixture.removals()).toEqual(['remove ff']);
  });

  it('has its minute anew after an uncertain look', async () => {
    const fixture = createFixture();
    await fixture.looks([0, 20]);
    fixture.told.silent = '192.168.10.22';
    await fixture.looks([40]);
    fixture.told.silent = '';
    await fixture.looks([60, 80, 100]);
    expect(fixture.removals()).toEqual([]);
  });

  it.each<[string, (fixture: ReturnType<typeof createFixture>) => void]>([
    ['a Machine of its name was just created', ({ told }) => told.unseen.push(settledAs('old'))],
    ['another control plane was just created', ({ told }) => told.unseen.push(aMachine(3))],
    ['it is a learner by now', ({ told }) => told.others.splice(0, 1, { ...orphan, learner: true })],
    ['it is gone by now', ({ told }) => told.others.splice(0)],
    ['a control plane is silent by now', ({ told }) => Object.assign(told, { silent: '192.168.10.23' })],
  ])('stays if, right before its removal, %s', async (_, change) => {
    const fixture = createFixture();
    await fixture.looks([0, 20, 40]);
    // The last look at all three, and then the one before the removal.
    let healths = 0;
    fixture.told.before = (call) => {
      if (call === 'health') healths += 1;
      if (healths === 3 && call === 'health') queueMicrotask(() => change(fixture));
    };
    await fixture.looks([60]);
    expect(healths).toBeGreaterThan(2);
    expect(fixture.removals()).toEqual([]);
    expect(fixture.events).toEqual([]);
  });

  it('is looked for again in a minute if a control plane does not answer', async () => {
    const fixture = createFixture();
    fixture.told.silent = '192.168.10.21';
    expect(await fixture.look()).toBe(60);
    expect(fixture.calls).toEqual(['list']);
  });

  it('is looked for soon if control planes have changed right after a look', async () => {
    const fixture = createFixture();
    fixture.told.others.splice(0);
    expect(await fixture.look()).toBeUndefined();
    const [first] = fixture.machines;
    if (first) first.metadata.uid = 'another';
    await fixture.clock.advance(5000);
    expect(await fixture.look()).toBe(15);
  });

  it('costs one call where there is none, and then none at rest', async () => {
    const fixture = createFixture();
    fixture.told.others.splice(0);
    await fixture.looks([0, 60, 3600, 6 * 3600 - 1]);
    expect(fixture.calls).toEqual(['list']);
    await fixture.looks([6 * 3600]);
    expect(fixture.calls).toEqual(['list', 'list']);
  });
});

function settledAs(name: string): Machine {
  const machine = settled(0);
  return { ...machine, metadata: { ...machine.metadata, name }, spec: { ...machine.spec, role: 'worker' } };
}
