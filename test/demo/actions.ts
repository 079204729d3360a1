import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Host } from '../../src/api/host.ts';
import { Machine } from '../../src/api/machine.ts';
import { clusterSecretsName, group } from '../../src/api/names.ts';
import { AccessRequest, Cluster, openmcpPhases } from '../../src/api/openmcp/types.ts';
import { ProviderConfig } from '../../src/api/provider-config.ts';
import { readClusterSecrets } from '../../src/controllers/shared/secrets/cluster-secrets.ts';
import { Namespace, Secret } from '../../src/kube/core-types.ts';
import { isAlreadyExists } from '../../src/kube/errors.ts';
import type { KubeObject, ResourceType } from '../../src/kube/resource.ts';
import { renderAdminTalosconfig } from '../talos/admin-talosconfig.ts';
import { demonstrateAccess, proveRevoked, showIdentity } from './access/granted-access.ts';
import { type ClusterSession, readYamlObjects } from './cluster-session.ts';
import { type DemoContext, providerNamespace } from './demo-context.ts';
import { demoFolder } from './folder.ts';
import { findLeftovers } from './leftovers.ts';
import { describeAll, findConfigProblem, newMilestones } from './output/progress.ts';
import { DemoFailed, waitForResult } from './wait-for-result.ts';

/** Applies the user's objects, or the samples. */
export async function applyObjects(
  { session, world, screen, story }: DemoContext,
  file: string | undefined,
): Promise<KubeObject[]> {
  screen.chapter(file ? `Your objects: ${file}` : story.heading);
  const objects = file ? await readYamlObjects(file) : await story.objects(world);
  for (const { metadata } of objects) if (metadata.namespace) await ensureNamespace(session, metadata.namespace);
  await session.apply(objects);
  return objects;
}

async function ensureNamespace(session: ClusterSession, name: string): Promise<void> {
  try {
    await session.client.create(Namespace, { apiVersion: 'v1', kind: 'Namespace', metadata: { name } });
  } catch (error) {
    if (!isAlreadyExists(error)) throw error;
  }
}

/** Waits until every applied Cluster is ready and every applied AccessRequest granted. */
export async function awaitReadyAndGranted(testbed: DemoContext, objects: readonly KubeObject[]): Promise<void> {
  const { session } = testbed;
  const all = async (
    type: ResourceType<KubeObject & { status?: { phase: string } }>,
    phase: string,
  ): Promise<boolean> => {
    const wanted = objects.filter(({ kind }) => kind === type.kind);
    const found = await Promise.all(wanted.map(({ metadata }) => session.client.find(type, metadata)));
    return found.every((object) => object?.status?.phase === phase);
  };
  await waitWithProgress(testbed, 'A ready cluster and access to it', 240, async () => {
    const ready = (await all(Cluster, openmcpPhases.ready)) && (await all(AccessRequest, openmcpPhases.granted));
    return ready || undefined;
  });
  await writeTalosconfig(session);
}

/**
 * Uses each granted kubeconfig and returns them. The rights of the samples' kubeconfigs are known; for others only the
 * user is shown.
 */
export async function tryAccess(
  { session, screen }: DemoContext,
  objects: readonly KubeObject[],
  areSamples: boolean,
): Promise<string[]> {
  const granted: string[] = [];
  const requests = objects.filter(({ kind }) => kind === AccessRequest.kind);
  if (requests.length > 0) screen.chapter('The granted kubeconfig at work');
  for (const { metadata } of requests) {
    const { status } = await session.client.get(AccessRequest, metadata);
    const secret = await session.client.get(Secret, {
      namespace: metadata.namespace,
      name: status?.secretRef?.name ?? '',
    });
    const kubeconfig = Buffer.from(secret.data?.['kubeconfig'] ?? '', 'base64').toString('utf8');
    await writeFile(join(demoFolder, 'access.kubeconfig'), kubeconfig, { mode: 0o600 });
    await (areSamples ? demonstrateAccess(kubeconfig, screen) : showIdentity(kubeconfig, screen));
    granted.push(kubeconfig);
  }
  return granted;
}

async function writeTalosconfig(session: ClusterSession): Promise<void> {
  const [cluster] = (await session.client.list(Cluster)).items;
  if (!cluster) return;
  const ref = { namespace: cluster.metadata.namespace ?? '', name: cluster.metadata.name };
  const { bundle } = readClusterSecrets(
    await session.client.get(Secret, { namespace: providerNamespace, name: clusterSecretsName(ref) }),
  );
  const machines = (await session.client.list(Machine)).items.filter(({ spec }) => spec.role === 'controlplane');
  const endpoints = machines.flatMap(({ status }) => status?.address ?? []);
  const options = { now: new Date(), lifetimeSeconds: 86_400, clusterName: ref.name, endpoints, nodes: endpoints };
  await writeFile(join(demoFolder, 'talosconfig'), (await renderAdminTalosconfig(bundle, options)).reveal(), {
    mode: 0o600,
  });
}

const printedKinds = [
  ['ProviderConfigs', `/apis/${group}/v1alpha1/providerconfigs`],
  ['ClusterProfiles', '/apis/clusters.openmcp.cloud/v1alpha1/clusterprofiles'],
  ['Clusters', '/apis/clusters.openmcp.cloud/v1alpha1/clusters'],
  ['Hosts', `/apis/${group}/v1alpha1/hosts`],
  ['Machines', `/apis/${group}/v1alpha1/machines`],
  ['AccessRequests', '/apis/clusters.openmcp.cloud/v1alpha1/accessrequests'],
  ['Who holds which address', `/apis/coordination.k8s.io/v1/namespaces/${providerNamespace}/leases`],
] as const;

/** Prints the objects in the format of kubectl. */
export async function printObjects({ session, screen }: DemoContext): Promise<void> {
  screen.chapter('What kubectl shows on the platform cluster');
  for (const [title, path] of printedKinds) {
    const table = await session.table(path);
    if (table.includes('\n')) screen.say(`\n# ${title}\n${table}`);
  }
}

/** Prints how a user can inspect the demo. */
export function printInstructions({ screen, statusPage }: DemoContext): void {
  screen.chapter('Everything stays up until Ctrl-C. Look around in another terminal:');
  screen.say(`
  ${statusPage} in a browser
  kubectl --kubeconfig ${demoFolder}/platform.kubeconfig get tpc,clusters.clusters.openmcp.cloud,th,tm,accessrequests -A
  kubectl --kubeconfig ${demoFolder}/access.kubeconfig auth whoami
  kubectl --kubeconfig ${demoFolder}/access.kubeconfig get nodes
  talosctl --talosconfig ${demoFolder}/talosconfig get members
  tail -f ${demoFolder}/run.log`);
}

/** Deletes everything, latest first, and verifies that nothing is left. */
export async function deleteAll(
  testbed: DemoContext,
  objects: readonly KubeObject[],
  granted: readonly string[],
): Promise<void> {
  const { session, world, program, screen, before, story } = testbed;
  screen.chapter('Everything down again');
  for (const type of [AccessRequest, Cluster, Host, ProviderConfig, Secret] as const) {
    const own = objects.filter(({ kind }) => kind === type.kind);
    for (const { metadata } of own) await session.client.remove(type as ResourceType, metadata);
    if (own.length > 0)
      await waitWithProgress(testbed, `The end of every ${type.kind}`, 120, async () => {
        const found = await Promise.all(own.map(({ metadata }) => session.client.find(type as ResourceType, metadata)));
        return found.every((object) => object === undefined) || undefined;
      });
    if (type === AccessRequest) for (const kubeconfig of granted) await proveRevoked(kubeconfig, screen);
    if (type === Cluster) await story.whenGone(testbed);
  }
  const left = await findLeftovers(session, world, before);
  if (left.length > 0) throw new DemoFailed(`Something was left behind: ${left.join(', ')}.`);
  screen.step('no VM, dataset, file, mark, Talos node, Machine, Secret or claimed address is left');
  screen.step(story.remains);
  const code = await program.stop();
  if (code !== 0) throw new DemoFailed(`run ended with exit code ${code}:\n${await program.tail()}`);
  screen.step('run has ended in order');
}

/** Shows the progress of all objects until `look` returns a value. */
export async function waitWithProgress<T>(
  testbed: DemoContext,
  what: string,
  seconds: number,
  look: () => Promise<T | undefined>,
): Promise<T> {
  const { session, program, screen } = testbed;
  const draw = async (): Promise<T | undefined> => {
    for (const text of await newMilestones(testbed)) screen.event(text);
    screen.progress(await describeAll(session));
    return await look();
  };
  const hopeless = async (): Promise<string | undefined> =>
    program.isRunning ? await findConfigProblem(session).catch(() => undefined) : 'run has ended by itself.';
  try {
    return await waitForResult(what, seconds, draw, hopeless);
  } catch (error) {
    if (!(error instanceof DemoFailed)) throw error;
    throw new DemoFailed(`${error.message}\nThe end of ${join(demoFolder, 'run.log')}:\n${await program.tail()}`);
  } finally {
    screen.settle();
  }
}
