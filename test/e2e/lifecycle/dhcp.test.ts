import { describe, expect, it } from 'vitest';
import { findFalseCondition } from '../../../src/api/conditions.ts';
import { Cluster } from '../../../src/api/openmcp/types.ts';
import { parseCommandLine } from '../../../src/commands/flags/parse-command-line.ts';
import { runReservations } from '../../../src/commands/reservations.ts';
import { deadlineSignal } from '../../../src/lib/deadline.ts';
import { noLog } from '../../../src/lib/log.ts';
import { eventually } from '../../support/eventually.ts';
import { KubeNode } from '../../support/fixtures/kube-node.ts';
import { readOutput } from '../../support/read-output.ts';
import { withAdminClient } from '../support/access/workload-cluster.ts';
import type { Testbed } from '../support/testbed/testbed.ts';
import { prepareTestbed, startTestbed } from '../support/testbed/testbed-hooks.ts';

const subnet = '127.42.23';
const ref = { namespace: 'team-a', name: 'told' };
const open = startTestbed({
  subnet,
  seeds: {
    truenas: { dhcp: [{ interface: 'br0', gateway: `${subnet}.1`, range: `${subnet}.200-${subnet}.220` }] },
  },
});

/** MAC addresses by address, as the command prints them, run with read-only permissions. */
async function reserved(testbed: Testbed, config = 'home'): Promise<ReadonlyMap<string, string>> {
  const text = await printReservations(testbed, config, '--dhcp-server=dnsmasq');
  const lines = text.split('\n');
  return new Map(lines.map((line) => /^dhcp-host=(.*),(.*)$/.exec(line)!).map(([, mac = '', at = '']) => [at, mac]));
}

async function printReservations(testbed: Testbed, config: string, ...more: string[]): Promise<string> {
  const kubeconfig = await testbed.kubeconfigWith('config/rbac/looking.yaml');
  const words = ['reservations', `--provider-config=${config}`, '--kubeconfig', kubeconfig, ...more];
  const line = parseCommandLine(words, {});
  if (line.command !== 'reservations') throw new Error(`parsed as ${line.command}`);
  const printed: string[] = [];
  await runReservations({
    ...line.settings,
    log: noLog,
    signal: deadlineSignal(30),
    print: (text) => printed.push(text),
  });
  return printed.join('\n');
}

const serverOf = (testbed: Testbed) => testbed.world.truenas.nas.dhcp.get('br0')!;
const machineAt = async (address: string) =>
  (await open().objects.machines(ref)).find(({ status }) => status?.address === address);
const statusOf = async (address: string) => (await machineAt(address))?.status;
const addresses = [11, 12, 13, 14].map((number) => `${subnet}.${number}`);
const [forgotten = ''] = addresses.slice(2);

let macs: ReadonlyMap<string, string>;
let noResponse: Awaited<ReturnType<typeof statusOf>>;

prepareTestbed(open, async (testbed) => {
  const { objects } = testbed;
  await objects.credentials();
  const change = ({ network }: { network: Record<string, unknown> }) => {
    Object.assign(network, { addressAssignment: 'DHCP', gateway: undefined, nameServers: undefined });
  };
  await objects.config('home', { controlPlanes: 3, workers: 1, change });
  macs = await reserved(testbed);
  const { reservations } = readOutput('reservations', await printReservations(testbed, 'home', '--output=yaml'));
  expect(new Map(reservations.map(({ address, mac }) => [address, mac]))).toEqual(macs);
  for (const address of addresses.filter((one) => one !== forgotten))
    serverOf(testbed).reserve(macs.get(address) ?? '', address);
  await objects.cluster(ref);
  // All nodes with a reservation have their addresses by then.
  await eventually(
    'all nodes but one are found',
    async () => {
      const found = await Promise.all(addresses.filter((one) => one !== forgotten).map(statusOf));
      return found.every((status) =>
        status?.conditions?.some(({ type, status: is }) => type === 'Joined' && is === 'True'),
      );
    },
    100,
  );
  const silent = await machineAt(forgotten);
  noResponse = silent?.status;
  const [vm] = [...testbed.world.truenas.nas.vms.values()].filter(({ row }) =>
    String(row['description']).includes(silent?.metadata.name ?? 'nobody'),
  );
  serverOf(testbed).reserve(macs.get(forgotten) ?? '', forgotten);
  await testbed.world.truenas.powerOff(String(vm?.row['name']));
  await eventually('the cluster is ready', async () => (await objects.getCluster(ref)).status?.phase === 'Ready', 100);
});

describe('a cluster whose nodes have their addresses from a DHCP server', () => {
  it('no reservation is needed where nodes get their addresses by their configuration', async () => {
    await open().objects.config('static', { pool: [180, 189] });
    await expect(reserved(open(), 'static')).rejects.toThrow(/network\.addressAssignment is Static/);
  });

  it('T39: can have all of the pool reserved before the first machine exists', () => {
    expect(macs.size).toBe(90);
    expect(new Set(macs.values()).size).toBe(90);
    const started = open()
      .world.machines.nodes()
      .map(({ description }) => description.nics[0]?.mac);
    expect(new Set(started)).toEqual(new Set(addresses.map((address) => macs.get(address))));
  });

  it('T39: names the missing reservation of a node with another address, and changes nothing', () => {
    const provisioned = findFalseCondition(noResponse?.conditions, 'Provisioned');
    expect(provisioned).toMatchObject({ status: 'False', reason: 'NotAtReservedAddress' });
    expect(provisioned?.message).toContain(`must assign ${forgotten} to the MAC address ${macs.get(forgotten)}`);
  });

  it('T39: is a cluster like any other, with each node at its address and the endpoint at an unassigned one', async () => {
    const { items } = await withAdminClient(open(), ref, (admin) => admin.list(KubeNode));
    const internal = items.flatMap(({ status }) =>
      (status?.addresses ?? []).filter(({ type }) => type === 'InternalIP').map(({ address }) => address),
    );
    expect(internal.sort()).toEqual(addresses);
    expect((await open().objects.getCluster(ref)).status?.apiServer).toBe(`https://${subnet}.10:6443`);
  });

  it('leaves nothing behind', async () => {
    const { objects, world } = open();
    await objects.remove(Cluster, ref);
    await eventually('the cluster is gone', async () => !(await objects.exists(Cluster, ref)), 60);
    expect(world.truenas.nas.vms.size).toBe(0);
  });
});
