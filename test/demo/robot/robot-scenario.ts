import type { Condition } from '../../../src/api/conditions.ts';
import { Host } from '../../../src/api/host.ts';
import { Machine } from '../../../src/api/machine.ts';
import { group } from '../../../src/api/names.ts';
import { Cluster } from '../../../src/api/openmcp/types.ts';
import { type KubeObject, objectKeyOf } from '../../../src/kube/resource.ts';
import { metalImageChecksum } from '../../support/fixtures/metal-image-checksum.ts';
import type { DemoContext } from '../demo-context.ts';
import type { DemoScenario } from '../demo-scenario.ts';
import { DemoFailed, waitForResult } from '../wait-for-result.ts';
import { milestones } from './milestones.ts';
import { robotClusterObjects, robotConfigObjects } from './robot-objects.ts';
import { demoHosts, demoServers, fileServer, sixthServer } from './servers.ts';

/** The sample for bare servers needs no extensions. */
const noExtensions = { extensions: [], kernelArguments: [] };

/** Bare servers, as rented from Hetzner. */
export const robotScenario: DemoScenario = {
  opening: 'The world: a platform cluster, five bare servers behind Robot, an image factory, the operator',
  heading: 'Five Hosts, a ProviderConfig, a Cluster and an AccessRequest',
  seeds: { robot: demoServers },
  objects: async (world) => [...(await robotConfigObjects(world)), ...demoHosts(), ...(await robotClusterObjects())],
  upgrade: {
    seeds: { robot: { servers: [...demoServers.servers, sixthServer.seed] } },
    objects: [sixthServer.host()],
    size: 'any',
    talos: (version) => ({
      talos: { version },
      hetznerRobot: { image: { sha256: metalImageChecksum(version, noExtensions) } },
    }),
  },
  moments: milestones,
  interlude: demonstrateUnusableHost,
  whenGone: proveHostsReleased,
  remains: 'the public key of the provider stays in the Robot account for the next cluster',
};

/** Requests a second cluster while the only free server has data that must not be erased. */
async function demonstrateUnusableHost(testbed: DemoContext, objects: readonly KubeObject[]): Promise<void> {
  const { session, screen } = testbed;
  const first = objects.find((object): object is Cluster => object.kind === Cluster.kind);
  if (!first) return;
  screen.chapter("One more cluster is asked for, and the only server left is somebody's file server");
  await session.client.merge(Host, fileServer.host, { spec: { maintenance: false } });
  const { status } = await session.client.get(Host, fileServer.host);
  for (const { name, serial, holds } of status?.hardware?.disks ?? [])
    screen.step(`inspected: ${name} ${serial} holds ${holds.join(', ') || 'nothing'}`);
  const { apiVersion, kind, spec, metadata } = first;
  const second = { apiVersion, kind, metadata: { namespace: metadata.namespace ?? '', name: 'second' }, spec };
  await session.apply([second]);
  const refused = await waitForResult('The reason why it is left alone', 60, async () => {
    const { items } = await session.client.list(Machine);
    return items.map(({ status }) => status?.message).find((text) => text?.includes('without a disk that may be used'));
  });
  screen.step(`refused: ${refused}`);
  const usable = usableCondition(await session.client.get(Host, fileServer.host));
  if (usable?.reason !== 'NoUsableDisk')
    throw new DemoFailed(`Host ${fileServer.host.name} does not say why it is left alone.`);
  screen.step(`its Host says: ${usable.message}`);
  await session.client.remove(Cluster, objectKeyOf(second));
  await waitForResult('The end of that wish', 60, async () => {
    return (await session.client.find(Cluster, objectKeyOf(second))) === undefined || undefined;
  });
  screen.step('nobody waits for it any more, and nothing was done to the server');
}

const usableCondition = ({ status }: Host): Condition | undefined =>
  status?.conditions.find(({ type }) => type === 'Usable');

/** The servers are free, blank and have their old names; foreign disks were never written to. */
async function proveHostsReleased({ session, world: { robot }, screen }: DemoContext): Promise<void> {
  screen.say(`\n# Hosts\n${await session.table(`/apis/${group}/v1alpha1/hosts`)}\n`);
  const { items } = await session.client.list(Host);
  // The file server is never used: because of its disks, or since a story keeps it in maintenance.
  const isLeftAlone = (host: Host): boolean =>
    host.spec.maintenance === true || usableCondition(host)?.reason === 'NoUsableDisk';
  const free = (host: Host): boolean =>
    host.metadata.name === fileServer.host.name
      ? isLeftAlone(host) && host.status?.machineRef === undefined
      : host.status?.state === 'Available';
  const busy = items.filter((host) => !free(host)).map(({ metadata }) => metadata.name);
  if (busy.length > 0) throw new DemoFailed(`Not free again: ${busy.join(', ')}.`);
  const written = (number: number): number => robot.writes(number).reduce((sum, { length }) => sum + length, 0);
  if (written(fileServer.number) > 0) throw new DemoFailed('The file server was written to.');
  const { phase, name } = robot.servers().find(({ number }) => number === fileServer.number) ?? {};
  screen.step(`server ${fileServer.number} was written 0 bytes, is called ${name} and runs its ${phase}`);
  const named = robot.servers().map((server) => `${server.number} ${server.name || '(none)'}`);
  screen.step(`names in Robot as before: ${named.join(', ')}`);
  const [calls, lockouts] = [robot.forbiddenCalls(), robot.lockouts()];
  if (calls.length + lockouts.length > 0)
    throw new DemoFailed(`Robot did not like: ${[...calls, ...lockouts].join(', ')}.`);
  screen.step('no order, cancellation or lock-out: every call to Robot was one that may be made');
}
