import { describe, expect, it } from 'vitest';
import { findFalseCondition, isConditionTrue } from '../../../src/api/conditions.ts';
import type { Machine } from '../../../src/api/machine.ts';
import { ProviderConfig } from '../../../src/api/provider-config.ts';
import { Event } from '../../../src/kube/event-recorder.ts';
import { eventually } from '../../support/eventually.ts';
import { KubeNode } from '../../support/fixtures/kube-node.ts';
import { withAdminClient } from '../support/access/workload-cluster.ts';
import { prepareTestbed, startTestbed } from '../support/testbed/testbed-hooks.ts';

const open = startTestbed({ subnet: '127.42.12' });
const ref = { namespace: 'shop', name: 'web' };

const machines = () => open().objects.machines(ref);
const runs = ({ status }: Pick<Machine, 'status'>) => status?.applied?.talosVersion;
const isUpToDate = ({ status }: Pick<Machine, 'status'>) => isConditionTrue(status?.conditions, 'UpToDate');
const changeConfig = (spec: object) => open().platform.merge(ProviderConfig, { name: 'home' }, { spec });
const clusterCondition = async (type: string) =>
  (await open().objects.getCluster(ref)).status?.conditions?.find((one) => one.type === type);
const eventsOf = async (reason: string) => {
  const { items } = await open().platform.list(Event, {});
  return items
    .filter((event) => event.reason === reason)
    .sort((a, b) => Number(a.metadata.resourceVersion) - Number(b.metadata.resourceVersion))
    .map(({ involvedObject }) => String(involvedObject.name));
};
const nodesOf = () => open().world.machines.nodes();

/** Everything is up to date with this version, and no Node is cordoned. */
async function awaitVersion(version: string): Promise<void> {
  await eventually(
    `Talos ${version} everywhere`,
    async () => {
      const all = await machines();
      return all.every((machine) => isUpToDate(machine) && runs(machine) === version);
    },
    300,
  );
  expect(nodesOf().map((node) => node.version)).toEqual(nodesOf().map(() => version));
  await eventually('no Node is cordoned', async () =>
    withAdminClient(open(), ref, async (admin) =>
      (await admin.list(KubeNode)).items.every(({ spec }) => !spec?.unschedulable),
    ),
  );
}

prepareTestbed(open, async ({ objects }) => {
  await objects.credentials();
  await objects.config('home', { controlPlanes: 3, workers: 1 });
  await changeConfig({ talos: { version: '1.12.11' } });
  await objects.cluster(ref);
  await eventually('it is up to date', async () => (await clusterCondition('UpToDate'))?.status === 'True', 150);
});

describe('a cluster', () => {
  it('D20: goes from Talos 1.12 to 1.13, one node at a time, control planes first', async () => {
    expect(nodesOf().map((node) => node.version)).toEqual(Array.from({ length: 4 }, () => '1.12.11'));
    await changeConfig({ talos: { version: '1.13.9' } });
    await eventually('the version is reported', async () => {
      const [machine] = await machines();
      const message = findFalseCondition(machine?.status?.conditions, 'UpToDate')?.message ?? '';
      return message.includes('Runs Talos 1.12.11 and is to run 1.13.9.');
    });
    await awaitVersion('1.13.9');
    const roles = (await eventsOf('Updated')).map((name) => (name.includes('-cp-') ? 'cp' : 'work'));
    expect(roles).toEqual(['cp', 'cp', 'cp', 'work']);
  });

  it('goes on to 1.14, whose configuration has another form', async () => {
    await changeConfig({ talos: { version: '1.14.0' } });
    await awaitVersion('1.14.0');
    expect((await open().objects.getCluster(ref)).status?.phase).toBe('Ready');
  });
});
