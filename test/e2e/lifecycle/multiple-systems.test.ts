import { mkdirSync, mkdtempSync } from 'node:fs';
import { readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { Cluster } from '../../../src/api/openmcp/types.ts';
import { eventually } from '../../support/eventually.ts';
import { KubeNode } from '../../support/fixtures/kube-node.ts';
import { runProgram } from '../../support/run-program.ts';
import { startTrueNasSimulator, type TrueNasSimulator } from '../../world/truenas/index.ts';
import { withAdminClient } from '../support/access/workload-cluster.ts';
import type { Testbed } from '../support/testbed/testbed.ts';
import { prepareTestbed, startTestbed } from '../support/testbed/testbed-hooks.ts';

const open = startTestbed({ subnet: '127.42.44' });
const ref = { namespace: 'shop', name: 'spread' };
const names = ['east', 'west', 'vault'] as const;
const folder = mkdtempSync(join(tmpdir(), 'systems-'));

/** The testbed's system, and two more of other releases. */
const systems = new Map<string, TrueNasSimulator>();
let before: Map<string, object>;
let planned: string;

async function startSystems({ world }: Testbed): Promise<void> {
  systems.set('east', world.truenas);
  for (const [name, host, version] of [
    ['west', '127.42.45.10', '25.04.2'],
    ['vault', '127.42.46.10', '26'],
  ] as const) {
    const own = join(folder, name);
    mkdirSync(own);
    const { clock, switchboard, machines: runner } = world;
    const at = { host, port: 0, folder: own, clock, switchboard, runner, extra: { version } };
    systems.set(name, await startTrueNasSimulator(at));
  }
}
afterAll(async () => {
  for (const name of ['west', 'vault']) await systems.get(name)?.close();
  await rm(folder, { recursive: true, force: true });
});

/** Everything on each system but the cache of images and the folders around it. */
const seen = (): Map<string, object> =>
  new Map([...systems].map(([name, simulator]) => [name, withoutCache(simulator)]));

function withoutCache(simulator: TrueNasSimulator): object {
  const { vms, devices, datasets, files } = simulator.dump();
  const isKept = (thing: object): boolean => {
    const { id, path } = thing as { id?: string; path?: string };
    return /^(\/mnt\/)?tank\/talos(\/images(\/.*)?)?$/.test(path ?? id ?? '');
  };
  return { vms, devices, datasets: datasets.filter((one) => !isKept(one)), files: files.filter((one) => !isKept(one)) };
}

/** The plan as the command prints it, run with read-only permissions. */
async function planText(testbed: Testbed): Promise<string> {
  const kubeconfig = await testbed.kubeconfigWith('config/rbac/looking.yaml');
  const words = ['plan', '--provider-config', 'home', '--cluster', 'shop/spread', '--kubeconfig', kubeconfig];
  const { code, out, err } = await runProgram(...words);
  expect(code, `${out}${err}`).toBe(0);
  return out;
}

/** The system of each machine in a plan. */
const hostsIn = (text: string): string[] =>
  [...text.matchAll(/virtual machine \S+ on ([^\s,]+)/g)].map(([, host = '']) => host);

prepareTestbed(open, async (testbed) => {
  await startSystems(testbed);
  const { objects } = testbed;
  const list = await Promise.all(
    names.map(async (name) => {
      const { url, ca, credentials } = systems.get(name)!.line;
      await objects.credentials(`key-${name}`, {
        username: credentials['user'] ?? '',
        apiKey: credentials['apiKey'] ?? '',
      });
      const caBundle = await readFile(ca ?? '', 'utf8');
      return { name, url, caBundle, credentialsRef: { name: `key-${name}` }, pool: 'tank', bridge: 'br0' };
    }),
  );
  before = seen();
  await objects.config('home', {
    controlPlanes: 3,
    workers: 2,
    change: (spec) => {
      const { sizes } = spec.truenas;
      spec.truenas = { sizes, systems: list } as unknown as typeof spec.truenas;
    },
  });
  await eventually('it is published', async () => (await objects.getConfig('home')).status?.phase === 'Ready');
  planned = await planText(testbed);
  await objects.cluster(ref);
  await eventually('it is ready', async () => (await objects.getCluster(ref)).status?.phase === 'Ready', 100);
});

describe('a cluster on several TrueNAS systems', () => {
  it('T58: has its control planes on all of them, its workers on the least used, and each keeps its system', async () => {
    expect(Object.fromEntries(seen())).not.toEqual(Object.fromEntries(before));
    const machines = await open().objects.machines(ref);
    const placed = machines.map(({ spec }) => `${spec.pool}-${spec.slot} ${spec.failureDomain}`).sort();
    expect(placed).toEqual(['cp-0 east', 'cp-1 west', 'cp-2 vault', 'work-0 east', 'work-1 west']);
    for (const { metadata, spec } of machines) {
      const holders = [...systems].filter(([, { nas }]) =>
        [...nas.vms.values()].some(({ row }) => String(row['name']).startsWith(metadata.name.replaceAll('-', '_'))),
      );
      expect(holders.map(([name]) => name)).toEqual([spec.failureDomain]);
    }
  });

  it('T58: has the layout that its plan predicted', async () => {
    const hosts = ['east', 'west', 'vault', 'east', 'west'].map(
      (name) => new URL(systems.get(name)!.line.url.replace('wss:', 'https:')).hostname,
    );
    expect(hostsIn(planned)).toEqual(hosts);
    // Until then the plan says that it does not know what would change.
    await eventually('its Machines are compared', async () =>
      (await open().objects.machines(ref)).every(({ status }) => status?.compared !== undefined),
    );
    const after = await planText(open());
    expect(hostsIn(after)).toEqual(hosts);
    expect([planned, after].map((text) => [/^ +creates /m.test(text), /^ +has /m.test(text)])).toEqual([
      [true, false],
      [false, true],
    ]);
  });

  it('tells Kubernetes the system of each node, so that Pods are spread', async () => {
    const { items } = await withAdminClient(open(), ref, (admin) => admin.list(KubeNode));
    const zones = items.map(({ metadata }) => metadata.labels?.['topology.kubernetes.io/zone']).sort();
    expect(zones).toEqual(['east', 'east', 'vault', 'west', 'west']);
    const shapes = items.map(({ metadata }) => metadata.labels?.['node.kubernetes.io/instance-type']);
    expect(shapes.filter((shape) => !/^\d+cpu-\d+mib$/.test(shape ?? ''))).toEqual([]);
  });

  it('T58: leaves each system as before when it is deleted, but for the cached boot image', async () => {
    const { objects } = open();
    await objects.remove(Cluster, ref);
    await eventually('it is gone', async () => !(await objects.exists(Cluster, ref)), 60);
    expect(Object.fromEntries(seen())).toEqual(Object.fromEntries(before));
  });
});
