import type { Machine } from '../../api/machine.ts';
import { annotations } from '../../api/names.ts';
import { type ErrorCode, ProviderError } from '../../lib/errors.ts';
import type { Log } from '../../lib/log.ts';
import type { TalosClient } from '../../talos/client/client.ts';
import { readMachineFact } from '../shared/machine-facts.ts';
import { annotateClusterSecrets } from '../shared/secrets/cluster-secrets.ts';
import type { Services } from '../shared/services.ts';
import { decideBootstrap, type EtcdState } from './decide-bootstrap.ts';
import type { ClusterView } from './view.ts';
import { writeClusterRecord } from './write-cluster-record.ts';

interface ClusterReconcileContext {
  readonly signal: AbortSignal;
  readonly log: Log;
}

/** A running node reports the state of its services at once. A node that does not answer must not delay the others. */
const etcdQueryTimeoutSeconds = 5;

/**
 * Bootstraps etcd on one machine, exactly once. All control planes are asked first, and a member on any of them means
 * that the bootstrap was done. The choice is recorded before the call, on the Secret and in the status of the Cluster.
 * The same machine is called again only if the earlier call certainly had no effect, because each call makes Talos stop
 * a starting etcd.
 */
export async function bootstrapEtcd(
  services: Services,
  view: ClusterView,
  machine: Machine | undefined,
  context: ClusterReconcileContext,
): Promise<ClusterView> {
  if (!view.secrets) throw new ProviderError('INTERNAL', 'The secrets of the cluster are unknown.');
  const controlPlanes = view.machines.filter(({ spec }) => spec.role === 'controlplane');
  const states = await Promise.all(
    controlPlanes.map(async (controlPlane) => ({
      machine: controlPlane,
      etcd: await observeEtcd(services, view, controlPlane, context.signal),
    })),
  );
  const decision = decideBootstrap(states, machine, view.secrets);
  switch (decision.kind) {
    case 'wait':
      return { ...view, bootstrap: { done: false, message: decision.message } };
    case 'bootstrapped':
      return await recordBootstrapped(services, view, decision.machine, context);
    case 'call':
      return await callBootstrap(services, view, decision, context);
  }
}

/** Records in the Secret first and then in the status of the Cluster. */
async function recordBootstrapProgress(
  services: Services,
  view: ClusterView,
  notes: Record<string, string>,
  signal: AbortSignal,
): Promise<ClusterView> {
  if (!view.secrets) throw new ProviderError('INTERNAL', 'The secrets of the cluster are unknown.');
  const secrets = await annotateClusterSecrets(services.kube, view.secrets, notes, signal);
  return await writeClusterRecord(services, { ...view, secrets }, signal);
}

async function recordBootstrapped(
  services: Services,
  view: ClusterView,
  machine: string,
  { signal, log }: ClusterReconcileContext,
): Promise<ClusterView> {
  const chosen = view.secrets?.bootstrapMachine ? {} : { [annotations.bootstrapMachine]: machine };
  const bootstrappedAt = services.clock.now().toISOString();
  const noted = await recordBootstrapProgress(
    services,
    view,
    { ...chosen, [annotations.bootstrappedAt]: bootstrappedAt },
    signal,
  );
  services.events.record(view.cluster, 'Normal', 'Bootstrapped', `etcd was bootstrapped on ${machine}.`);
  log.info({ machine }, 'etcd bootstrapped');
  return { ...noted, bootstrap: { done: true, message: '' } };
}

async function callBootstrap(
  services: Services,
  view: ClusterView,
  { machine, request }: { readonly machine: Machine; readonly request: string },
  { signal, log }: ClusterReconcileContext,
): Promise<ClusterView> {
  const { name } = machine.metadata;
  const noted = await recordBootstrapProgress(
    services,
    view,
    { [annotations.bootstrapMachine]: name, [annotations.bootstrapRequest]: request },
    signal,
  );
  const rejection = await withNode(services, view, machine, (node) => tryBootstrap(node, signal));
  if (!rejection) {
    log.info({ machine: name }, 'etcd bootstrap called');
    return { ...noted, bootstrap: { done: false, message: `etcd is being started on ${name}.` } };
  }
  const message = `${name}: ${rejection.message}`;
  const record = { ...noted, bootstrap: { done: false, message } };
  if (!rejectionCodes.has(rejection.code)) return record;
  return await recordBootstrapProgress(services, record, { [annotations.bootstrapRequest]: rejectedRequest }, signal);
}

/**
 * Replaces the record of a request that the node rejected without effect: the machine may be called again in any state.
 */
const rejectedRequest = 'refused';

/**
 * Error codes of Talos from before it changes etcd. After any other error, and after a timeout, the service state
 * decides.
 */
const rejectionCodes: ReadonlySet<string> = new Set<ErrorCode>([
  'TALOS_NOT_READY',
  'TALOS_PERMISSION_DENIED',
  'TALOS_UNSUPPORTED',
  'TALOS_CONFIG_REFUSED',
  'TALOS_FOREIGN_NODE',
]);

/** Undefined if etcd is bootstrapped by this call or an earlier one; otherwise the error. */
async function tryBootstrap(node: TalosClient, signal: AbortSignal): Promise<ProviderError | undefined> {
  try {
    await node.bootstrap({ signal });
    return undefined;
  } catch (error) {
    signal.throwIfAborted();
    if (!(error instanceof ProviderError)) throw error;
    return error.code === 'TALOS_ALREADY_BOOTSTRAPPED' ? undefined : error;
  }
}

/** The etcd state of one control plane. Members are listed only while the etcd service runs. */
async function observeEtcd(
  services: Services,
  view: ClusterView,
  machine: Machine,
  signal: AbortSignal,
): Promise<EtcdState | undefined> {
  if (readMachineFact(machine, 'address') === undefined) return undefined;
  try {
    return await withNode(services, view, machine, async (node) => {
      const service = await node.etcdService({ signal, seconds: etcdQueryTimeoutSeconds });
      if (service?.state === 'Preparing')
        return { service, boot: await node.bootId({ signal, seconds: etcdQueryTimeoutSeconds }) };
      if (service?.state !== 'Running') return { service };
      return { service, members: await countMembers(node, signal) };
    });
  } catch (error) {
    signal.throwIfAborted();
    if (!(error instanceof ProviderError)) throw error;
    return { unanswered: error.message };
  }
}

async function countMembers(node: TalosClient, signal: AbortSignal): Promise<number> {
  try {
    return (await node.etcdMembers({ signal })).length;
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof ProviderError) return 0;
    throw error;
  }
}

async function withNode<T>(
  services: Services,
  view: ClusterView,
  machine: Machine,
  work: (node: TalosClient) => Promise<T>,
): Promise<T> {
  const node = services.targets.talos(view.ref, readMachineFact(machine, 'address') ?? '');
  try {
    return await work(node);
  } finally {
    await node.close();
  }
}
