import { describe, expect, it } from 'vitest';
import { findFalseCondition, isConditionTrue } from '../../../src/api/conditions.ts';
import type { Machine } from '../../../src/api/machine.ts';
import { machineName } from '../../../src/api/names.ts';
import { ProviderConfig } from '../../../src/api/provider-config.ts';
import { Event } from '../../../src/kube/event-recorder.ts';
import { eventually } from '../../support/eventually.ts';
import { KubeNode } from '../../support/fixtures/kube-node.ts';
import { callNas } from '../support/access/nas.ts';
import { withAdminClient } from '../support/access/workload-cluster.ts';
import { deletionsSince, phasesSince } from '../support/observation/scaling.ts';
import { prepareTestbed, startTestbed } from '../support/testbed/testbed-hooks.ts';

const open = startTestbed({ subnet: '127.42.226' });
const ref = { namespace: 'shop', name: 'anew' };
const nameOf = (pool: string, slot: number) => machineName(ref, pool, slot);

const machines = () => open().objects.machines(ref);
const isReady = ({ status }: Machine) => isConditionTrue(status?.conditions, 'Ready');
const conditionOf = async () =>
  (await open().objects.getCluster(ref)).status?.conditions?.find(({ type }) => type === 'UpToDate');
const changeConfig = (spec: object) => open().platform.merge(ProviderConfig, { name: 'home' }, { spec });
const pool = (more: object) => ({ workerPools: [{ name: 'work', replicas: 2, size: 'small', ...more }] });
const small = { name: 'small', cpus: 2, memoryMiB: 2048, diskGiB: 20 };
const changeDisks = (...disks: object[]) => changeConfig({ truenas: { sizes: [{ ...small, disks }] } });
const uidsOf = async (role: string) =>
  (await machines()).filter(({ spec }) => spec.role === role).map(({ metadata }) => metadata.uid ?? '');
const isUpToDate = async () => (await conditionOf())?.status === 'True';

/** Waits until every Machine of a role is another one, and returns the smallest number of ready ones meanwhile. */
async function awaitOthers(role: string, before: readonly string[]): Promise<number> {
  let fewest = before.length;
  await eventually(
    'all are others',
    async () => {
      const all = (await machines()).filter(({ spec }) => spec.role === role);
      fewest = Math.min(fewest, all.filter(isReady).length);
      const areOthers = all.every(({ metadata }) => !before.includes(metadata.uid ?? ''));
      return areOthers && all.length === before.length && all.every(isReady) && (await isUpToDate());
    },
    300,
  );
  return fewest;
}

prepareTestbed(open, async ({ objects }) => {
  await objects.credentials();
  await objects.config('home', { controlPlanes: 3, workers: 2 });
  await objects.cluster(ref);
  await eventually('it is up to date', isUpToDate, 200);
});

describe('D39: another machine takes the place of', () => {
  it('each worker that registers with another taint: the new one first, and the Cluster stays ready', async () => {
    const [before, since] = [await uidsOf('worker'), new Date()];
    const controlPlanes = await uidsOf('controlplane');
    await changeConfig(pool({ taints: [{ key: 'gpu', value: 'yes', effect: 'NoSchedule' }] }));
    expect(await awaitOthers('worker', before)).toBe(2);
    expect(await uidsOf('controlplane')).toEqual(controlPlanes);
    expect(deletionsSince(open(), since)).toEqual({ most: 1, names: [nameOf('work', 0), nameOf('work', 1)] });
    expect(phasesSince(open(), ref, since)).toEqual(['Ready']);
    const taints = await withAdminClient(open(), ref, async (admin) =>
      (await admin.list(KubeNode)).items.flatMap(({ spec }) => spec?.taints?.map(({ key }) => key) ?? []),
    );
    expect(taints.filter((key) => key === 'gpu')).toHaveLength(2);
    const { items } = await open().platform.list(Event, {});
    const deleted = items.filter(({ reason }) => reason === 'MachineDeleted');
    expect(deleted.map(({ message }) => message)).toContainEqual(
      expect.stringContaining('another one takes its place'),
    );
    expect(await callNas(open(), 'vm.query', [])).toHaveLength(5);
  });

  it('each machine with other disks: of the control planes the old one first, one at a time', async () => {
    const [before, since] = [await uidsOf('controlplane'), new Date()];
    const workers = await uidsOf('worker');
    await changeDisks({ name: 'data', sizeGiB: 2 });
    expect(await awaitOthers('controlplane', before)).toBe(2);
    await awaitOthers('worker', workers);
    const { most, names } = deletionsSince(open(), since);
    expect([most, names.map((name) => (name.includes('-cp-') ? 'cp' : 'work'))]).toEqual([
      1,
      ['cp', 'cp', 'cp', 'work', 'work'],
    ]);
  });

  it('a worker before the new one, if there is no address for both', async () => {
    const before = await uidsOf('worker');
    const all = await machines();
    const addresses = all.map(({ status }) => String(status?.address));
    const endpoint = new URL(all[0]?.spec.endpoint ?? '').hostname;
    await changeConfig({ network: { addressPool: [...addresses, endpoint] } });
    await changeConfig(pool({ taints: [] }));
    await eventually('the new one waits for an address', async () =>
      (await machines()).some(
        ({ status }) => findFalseCondition(status?.conditions, 'Provisioned')?.reason === 'ADDRESS_POOL_EMPTY',
      ),
    );
    await awaitOthers('worker', before);
  });

  it('no control plane of a cluster with only one, which says so', async () => {
    const single = { namespace: 'shop', name: 'single' };
    await open().objects.config('single', { controlPlanes: 1, pool: [100, 120] });
    await open().objects.cluster(single, { config: 'single' });
    const theOne = async () => (await open().objects.machines(single))[0];
    const isCurrent = async () => isConditionTrue((await theOne())?.status?.conditions, 'UpToDate');
    await eventually('it is up to date', isCurrent, 150);
    const uid = (await theOne())?.metadata.uid;
    const sizes = [{ ...small, disks: [{ name: 'data', sizeGiB: 2 }] }];
    await open().platform.merge(ProviderConfig, { name: 'single' }, { spec: { truenas: { sizes } } } as object);
    const state = await eventually('it says so', async () => {
      const found = findFalseCondition((await theOne())?.status?.conditions, 'UpToDate');
      return found?.reason === 'ChangeRefused' && found;
    });
    expect(state.message).toBe(
      'Differs from its ProviderConfig in size.disks. The change needs another machine, and a cluster with 1 control plane would lose etcd with this one. Take it back, or set controlPlane.replicas to 3 before it.',
    );
    expect((await theOne())?.metadata.uid).toBe(uid);
  });
});
