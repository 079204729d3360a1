import { describe, expect, it } from 'vitest';
import { findFalseCondition } from '../../../src/api/conditions.ts';
import { Machine } from '../../../src/api/machine.ts';
import { annotations, openmcpKeys } from '../../../src/api/names.ts';
import { Cluster, ClusterProfile } from '../../../src/api/openmcp/types.ts';
import { ProviderConfig } from '../../../src/api/provider-config.ts';
import { consistently, eventually } from '../../support/eventually.ts';
import { callNas } from '../support/access/nas.ts';
import { prepareTestbed, startTestbed } from '../support/testbed/testbed-hooks.ts';

const open = startTestbed({ subnet: '127.42.138' });
const main = { namespace: 'shop', name: 'main' };
const home = { name: 'home' };

const isReady = async (): Promise<boolean> => (await open().objects.getCluster(main)).status?.phase === 'Ready';
const labelOf = async (): Promise<string | undefined> =>
  (await open().objects.getCluster(main)).metadata.labels?.[openmcpKeys.provider];
const offered = async (): Promise<string[]> => {
  const profile = await open().platform.get(ClusterProfile, { name: open().objects.profileOf('home') });
  return (profile.spec.supportedVersions ?? []).map(({ version }) => version);
};
const operate = (type: typeof Cluster | typeof ProviderConfig, key: typeof main | typeof home, what: string | null) =>
  open().objects.annotate(type, key, { [openmcpKeys.operation]: what });

prepareTestbed(open, async ({ objects }) => {
  await objects.credentials();
  await objects.config('home');
  await objects.cluster(main);
  await eventually('the Cluster is ready', isReady, 100);
});

describe('C38: the operation annotation', () => {
  const dropLabel = () =>
    open().platform.merge(Cluster, main, { metadata: { labels: { [openmcpKeys.provider]: null } } });

  it('suspends the reconcile of a Cluster with `ignore`, until it is removed', async () => {
    await operate(Cluster, main, 'ignore');
    await dropLabel();
    await consistently(1, async () => expect(await labelOf()).toBeUndefined());
    await operate(Cluster, main, null);
    await eventually('the label is back', async () => (await labelOf()) === 'talos');
  });

  it('triggers a reconcile of a Cluster at once with `reconcile`, and is removed by it', async () => {
    const before = open().calls.length;
    await operate(Cluster, main, 'reconcile');
    const notes = async () => (await open().objects.getCluster(main)).metadata.annotations ?? {};
    await eventually('it is taken', async () => !(openmcpKeys.operation in (await notes())));
    const proof = /\/namespaces\/kube-system$/;
    await eventually('it is looked at', () =>
      open()
        .calls.slice(before)
        .some(({ simulator, name }) => simulator === 'workload' && proof.test(name)),
    );
  });

  it('suspends the Machines of a Cluster with `ignore` as well, and resumes without it', async () => {
    const [machine] = await open().objects.machines(main);
    const key = { name: machine?.metadata.name ?? '' };
    const vms = async () =>
      (await callNas(open(), 'vm.query', [[], {}])) as { id: number; status: { state: string } }[];
    const states = async () => (await vms()).map(({ status }) => status.state);
    await operate(Cluster, main, 'ignore');
    await callNas(open(), 'vm.poweroff', [(await vms())[0]?.id]);
    await open().objects.annotate(Machine, key, { [openmcpKeys.operation]: 'reconcile' });
    await consistently(2, async () => {
      const { metadata } = await open().platform.get(Machine, key);
      expect([metadata.annotations?.[openmcpKeys.operation], await states()]).toEqual(['reconcile', ['STOPPED']]);
    });
    await operate(Cluster, main, null);
    await eventually('it runs', async () => (await states()).join() === 'RUNNING');
    await eventually('the Cluster is ready again', isReady, 100);
  });

  it('suspends the reconcile of a ProviderConfig with `ignore`, until it is removed', async () => {
    await operate(ProviderConfig, home, 'ignore');
    const versions = [{ version: '1.35.4' }, { version: '1.35.3' }];
    await open().platform.merge(ProviderConfig, home, { spec: { kubernetes: { versions } } });
    await consistently(1, async () => expect(await offered()).toEqual(['1.35.4', '1.34.7']));
    await operate(ProviderConfig, home, null);
    await eventually('the profile follows', async () => (await offered()).join() === '1.35.4,1.35.3');
  });
});

it('C43, T43: a machine that is powered off by hand stays off in maintenance, reported on the Cluster, and starts again without it', async () => {
  const [machine] = await open().objects.machines(main);
  const mark = (value: string | null) =>
    open().objects.annotate(Machine, { name: machine?.metadata.name ?? '' }, { [annotations.maintenance]: value });
  const vms = async () => (await callNas(open(), 'vm.query', [[], {}])) as { id: number; status: { state: string } }[];
  await mark('true');
  await callNas(open(), 'vm.poweroff', [(await vms())[0]?.id]);
  const messages = async () =>
    findFalseCondition((await open().objects.getCluster(main)).status?.conditions, 'MachinesReady')?.message ?? '';
  // An observation at the moment of the shutdown finds a silent node first.
  await eventually('the Cluster says so', async () => /maintenance.*powered off/.test(await messages()));
  expect((await vms()).map(({ status }) => status.state)).toEqual(['STOPPED']);
  await mark(null);
  await eventually('it runs', async () => (await vms()).every(({ status }) => status.state === 'RUNNING'));
  await eventually('the Cluster is ready again', isReady, 100);
});
