import { describe, expect, it } from 'vitest';
import { secretsName } from '../../src/api/names.ts';
import { AccessRequest, Cluster } from '../../src/api/openmcp.ts';
import { ProviderConfig } from '../../src/api/provider-config.ts';
import { Secret } from '../../src/kube/core-types.ts';
import type { Call } from '../world/switchboard.ts';
import { eventually, throughout } from './support/eventually.ts';
import { prepare, startStage } from './support/hooks.ts';
import { Interruptions, type Point } from './support/interrupt.ts';
import { leaks } from './support/secrets.ts';
import {
  addressPlan,
  bootstraps,
  isOfProvider,
  nasTraces,
  outsideWrites,
  providerWrites,
  traces,
  workloadWrites,
} from './support/traces.ts';
import { asTalosAdmin, ConfigMap, grantedKubeconfig, madeFor, withAccess } from './support/workload.ts';

/** What is looked at every minute is looked at every two seconds here. */
const open = startStage({ subnet: '127.42.105', speed: 30 });
const main = { namespace: 'shop', name: 'main' };
const unlucky = { namespace: 'shop', name: 'unlucky' };
const rules = [{ apiGroups: [''], resources: ['configmaps'], verbs: ['list'] }];
const token = { permissions: [{ rules }, { namespace: 'inside', rules }] };

const onTheWayUp: readonly Point[] = [
  { room: 'kube', name: /^PATCH .*\/providerconfigs\/home$/ },
  { room: 'kube', name: /^PATCH .*\/clusterprofiles\// },
  { room: 'kube', name: /^POST \/api\/v1\/namespaces\/openmcp-system\/secrets$/ },
  // Before an address is claimed. The claim itself looks like that of the leader, and to wait for a lost one takes long.
  { room: 'kube', name: /^GET .*\/leases$/ },
  { room: 'kube', name: /^POST .*\/machines$/ },
  { room: 'kube', name: /^PATCH .*\/machines\/.*\/status$/ },
  { room: 'truenas', name: /^POST \/_upload$/ },
  { room: 'truenas', name: /^pool\.dataset\.create$/ },
  { room: 'truenas', name: /^vm\.create$/ },
  { room: 'truenas', name: /^vm\.device\.create$/ },
  { room: 'truenas', name: /^vm\.start$/ },
  { room: 'talos', name: /^machine\.MachineService\/Bootstrap$/ },
  { room: 'workload', name: /^GET \/api\/v1\/namespaces\/kube-system$/ },
  { room: 'workload', name: /^POST .*\/clusterroles$/ },
  { room: 'workload', name: /\/token$/ },
  { room: 'kube', name: /^POST \/api\/v1\/namespaces\/shop\/secrets$/ },
];
const onTheWayDown: readonly Point[] = [
  { room: 'workload', name: /^DELETE / },
  { room: 'kube', name: /^DELETE .*\/machines\// },
  { room: 'truenas', name: /^vm\.(stop|poweroff)$/ },
  { room: 'truenas', name: /^vm\.delete$/ },
  { room: 'truenas', name: /^pool\.dataset\.delete$/ },
  { room: 'kube', name: /^DELETE .*\/leases\// },
  { room: 'kube', name: /^DELETE \/api\/v1\/namespaces\/openmcp-system\/secrets\// },
  { room: 'kube', name: /^PATCH .*\/clusters\/main$/ },
];

const isReady = async (ref: typeof main): Promise<boolean> =>
  (await open().things.getCluster(ref)).status?.phase === 'Ready';
const isGranted = async (ref: typeof main): Promise<boolean> =>
  (await open().things.getRequest(ref)).status?.phase === 'Granted';

let up: Interruptions;

prepare(open, async (stage) => {
  const { things } = stage;
  up = new Interruptions(stage, onTheWayUp);
  await things.credentials();
  await things.config('home', { controlPlanes: 3, workers: 1 });
  await things.cluster(main);
  await things.request(main, { clusterRef: main, token });
  await eventually('the Cluster is ready', () => isReady(main), 110);
  await eventually('access is granted', () => isGranted(main));
  await up.end();
});

/** That there is one of everything for a Cluster of four nodes, and no more. */
async function expectNothingTwice(ref: typeof main): Promise<void> {
  const stage = open();
  const { things, recorder, namespace } = stage;
  const machines = await things.machines(ref);
  expect(machines).toHaveLength(4);
  const ofCluster = (trace: string): boolean => trace.includes(`${ref.name}_`);
  expect(nasTraces(stage).filter((trace) => trace.startsWith('VM ') && ofCluster(trace))).toHaveLength(4);
  // A folder and a disk for each.
  expect(nasTraces(stage).filter((trace) => trace.startsWith('dataset ') && ofCluster(trace))).toHaveLength(8);
  const holders = [...(await addressPlan(stage)).values()].filter((holder) => holder.includes(`/${ref.name}`));
  expect(holders.sort()).toEqual(
    [`cluster/shop/${ref.name}`, ...machines.map(({ metadata }) => `machine/${metadata.name}`)].sort(),
  );
  const secrets = recorder.of(Secret, { namespace, name: secretsName(ref) });
  expect(new Set(secrets.map(({ object }) => object.metadata.uid)).size).toBe(1);
  expect(new Set(bootstraps(stage.calls).filter((node) => node.includes(`${ref.name}_`))).size).toBe(1);
  const [controlPlane] = machines;
  const members = await asTalosAdmin(stage, ref, controlPlane?.status?.address ?? '', (node) => node.etcdMembers());
  expect(members).toHaveLength(3);
}

describe('a provider that is stopped in the middle of everything', () => {
  it('was stopped in each of the calls that matter', () => {
    expect(up.missed()).toEqual([]);
  });

  it('comes to the same end, with nothing twice', async () => {
    await expectNothingTwice(main);
    expect(await madeFor(open(), main, main)).toHaveLength(5);
    await withAccess(open(), main, async (holder) => await holder.list(ConfigMap));
  });
});

describe('a provider whose answers get lost after the work was done', () => {
  it('looks before it does anything again', async () => {
    const { things, world } = open();
    const { switchboard } = world;
    const lost: readonly (readonly [string, RegExp])[] = [
      ['truenas', /^pool\.dataset\.create$/],
      ['truenas', /^vm\.create$/],
      ['truenas', /^vm\.device\.create$/],
      ['truenas', /^vm\.start$/],
      ['talos', /^machine\.MachineService\/Bootstrap$/],
    ];
    for (const [room, name] of lost) switchboard.fail(room, name, { kind: 'lose-reply' });
    await things.cluster(unlucky);
    await eventually('the Cluster is ready', () => isReady(unlucky), 90);
    await expectNothingTwice(unlucky);
    switchboard.clear();
    await things.remove(Cluster, unlucky);
    await eventually('the Cluster is gone', async () => !(await things.exists(Cluster, unlucky)));
  });
});

/** What the provider changed anywhere, its own Lease left aside. */
const writesIn = (calls: readonly Call[]): string[] => [
  ...providerWrites(calls),
  ...workloadWrites(calls),
  ...outsideWrites(calls),
];

/** Waits until the provider has asked for everything that it looks at so many times since `start`. */
async function hasLookedAgain(start: number, times: number): Promise<void> {
  const looks: readonly Point[] = [
    { room: 'workload', name: /^GET \/api\/v1\/namespaces\/kube-system$/ },
    { room: 'truenas', name: /^vm\.query$/ },
    { room: 'kube', name: /^GET .*\/machines\/.*-work-0$/ },
  ];
  await eventually('everything was looked at', () => {
    const calls = open().calls.slice(start).filter(isOfProvider);
    return looks.every(({ room, name }) => calls.filter((c) => c.room === room && name.test(c.name)).length >= times);
  });
}

describe('when there is nothing to do', () => {
  it('nothing is written, neither to the platform nor to a cluster nor to a machine', async () => {
    const stage = open();
    // What was left to say about the things before.
    await eventually('the last word is said', async () => {
      const start = stage.calls.length;
      await throughout(1, () => expect(writesIn(stage.calls.slice(start))).toEqual([]));
      return true;
    });
    const start = stage.calls.length;
    await hasLookedAgain(start, 3);
    expect(writesIn(stage.calls.slice(start))).toEqual([]);
  });

  it('a restart writes nothing either', async () => {
    const stage = open();
    const before = await grantedKubeconfig(stage, main);
    const start = stage.calls.length;
    await stage.provider.restart();
    await hasLookedAgain(start, 2);
    await eventually('the access was looked at', () =>
      stage.calls.slice(start).some(({ room, name }) => room === 'workload' && /^GET .*\/rolebindings/.test(name)),
    );
    await throughout(1, () => expect(writesIn(stage.calls.slice(start))).toEqual([]));
    expect(await grantedKubeconfig(stage, main)).toBe(before);
  });
});

describe('a provider that is stopped in the middle of taking everything down', () => {
  it('leaves nothing behind', async () => {
    const stage = open();
    const { things } = stage;
    const down = new Interruptions(stage, onTheWayDown);
    await things.remove(AccessRequest, main);
    await eventually('the request is gone', async () => !(await things.exists(AccessRequest, main)));
    await things.remove(Cluster, main);
    await eventually('the Cluster is gone', async () => !(await things.exists(Cluster, main)), 60);
    await things.remove(ProviderConfig, { name: 'home' });
    await eventually('nothing is left', async () => {
      expect(await traces(stage)).toEqual([]);
      return true;
    });
    await down.end();
    expect(down.missed()).toEqual([]);
  });
});

it('nothing of all this is a fault of the provider', () => {
  expect(open().faults()).toEqual([]);
});

it('no secret of all this is in any log line, event, status or condition', () => {
  expect(leaks(open())).toEqual([]);
});
