import { expect, it } from 'vitest';
import { machineName, openmcpKeys } from '../../../src/api/names.ts';
import { Cluster } from '../../../src/api/openmcp/types.ts';
import { eventually } from '../../support/eventually.ts';
import { prepareTestbed, startTestbed } from '../support/testbed/testbed-hooks.ts';

const open = startTestbed({ subnet: '127.42.244' });
const ref = { namespace: 'shop', name: 'full' };
const names = [0, 1, 2].map((slot) => machineName(ref, 'cp', slot));
const mib = 2 ** 20;

const stateOf = async () =>
  (await open().objects.getCluster(ref)).status?.conditions?.find(({ type }) => type === 'EtcdHasSpace');
const nodeOf = (name: string) =>
  open()
    .world.machines.nodes()
    .find(({ hostname }) => hostname === name)?.name ?? '';
const fill = (name: string, bytes: number, inUse: number) =>
  open().world.machines.fillEtcd(nodeOf(name), { bytes: bytes * mib, inUse: inUse * mib });
const callsOf = (name: string) => open().calls.filter((call) => call.name.endsWith(`/${name}`));
const lookNow = () => open().objects.annotate(Cluster, ref, { [openmcpKeys.operation]: 'reconcile' });

/** Looks until the message fits: each look does one thing. */
async function lookUntil(reason: string, message: RegExp): Promise<void> {
  await eventually(
    `${reason} ${message}`,
    async () => {
      await lookNow();
      const state = await stateOf();
      return state?.reason === reason && message.test(state.message);
    },
    60,
  );
}

prepareTestbed(open, async ({ objects }) => {
  await objects.credentials();
  await objects.config('home', { controlPlanes: 3 });
  await objects.cluster(ref);
  await eventually('it is ready', async () => (await objects.getCluster(ref)).status?.phase === 'Ready', 120);
});

it('a database that is half free is defragmented, one member after the other, and the leader moves away first', async () => {
  for (const name of names) fill(name, 600, 200);
  await lookUntil('AsExpected', /^200 of 2048 MiB/);
  const calls = callsOf('EtcdDefragment');
  expect(calls).toHaveLength(3);
  expect(callsOf('EtcdForfeitLeadership')).toHaveLength(1);
  const events = open().recorder.events({ kind: 'Cluster', name: ref.name });
  for (const name of names) expect(events).toContainEqual(expect.stringMatching(`^EtcdDefragmented: .* on ${name} `));
});

it('a database that becomes full is reported before', async () => {
  for (const name of names) fill(name, 1750, 1740);
  await lookUntil('EtcdSpaceLow', /^etcd will soon refuse writes: 1750 of 2048 MiB/);
  expect((await open().objects.getCluster(ref)).status?.phase).toBe('Ready');
});

it('the alarm of a full one is reported, and disarmed when it has space again', async () => {
  for (const name of names) fill(name, 2048, 2040);
  open().world.machines.raiseEtcdAlarm(nodeOf(names[1] ?? ''), 'NOSPACE');
  await lookUntil('EtcdFull', /^etcd refuses writes: 2048 of 2048 MiB/);
  expect(callsOf('EtcdAlarmDisarm')).toHaveLength(0);
  // Objects were deleted.
  for (const name of names) fill(name, 2048, 900);
  await lookUntil('AsExpected', /^900 of 2048 MiB/);
  expect(callsOf('EtcdAlarmDisarm')).toHaveLength(1);
  expect(callsOf('EtcdDefragment')).toHaveLength(6);
});
