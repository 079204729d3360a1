import { clusterIdentityAnnotations } from '../../api/cluster-identity.ts';
import { Machine } from '../../api/machine.ts';
import {
  annotations,
  clusterId,
  clusterSecretsName,
  controlPlanePool,
  group,
  labels,
  openmcpKeys,
  version,
} from '../../api/names.ts';
import { Cluster } from '../../api/openmcp/types.ts';
import { clusterIdentityOf, isOfCluster } from '../../controllers/cluster/identity.ts';
import { secretsBundleKey } from '../../controllers/shared/secrets/cluster-secrets.ts';
import { Secret } from '../../kube/core-types.ts';
import { isAlreadyExists } from '../../kube/errors.ts';
import { objectKeyOf } from '../../kube/resource.ts';
import { ProviderError } from '../../lib/errors.ts';
import { toBase64 } from '../../talos/secrets/pem.ts';
import type { SecretsBundle } from '../../talos/secrets/secrets-bundle.ts';
import { formatSecretsBundle } from '../../talos/secrets/secrets-bundle-file.ts';
import type { AccessSession } from '../access/access-session.ts';
import type { AdoptableCluster, AdoptableNode } from './assess-adoption.ts';
import type { AdoptionTarget } from './find-target.ts';

export interface Adoption {
  readonly target: AdoptionTarget;
  readonly bundle: SecretsBundle;
  readonly found: AdoptableCluster;
}

/** The pool of the workers. */
const workerPool = 'workers';

/**
 * Creates the Secret of the cluster and a Machine for each node, as far as they are missing, so that any interruption is
 * continued. The provider ignores the Cluster until all are there. `note` is called with each object that was created.
 */
export async function writeAdoption(
  session: AccessSession,
  { target, bundle, found }: Adoption,
  note: (text: string) => void,
): Promise<void> {
  const { kube, namespace, signal } = session;
  const { cluster } = target;
  const ref = clusterIdentityOf(cluster);
  const secret = { namespace, name: clusterSecretsName(ref) };
  const missing = planMachines(target, found);
  const hasSecret = (await kube.find(Secret, secret, signal)) !== undefined;
  if (!hasSecret || missing.length > 0) await setOperation(session, cluster, 'ignore');
  if (!hasSecret) {
    await kube.create(Secret, describeSecret(session, { target, bundle, found }), signal);
    note(`Secret ${namespace}/${secret.name}`);
  }
  for (const machine of missing) {
    await createMachine(session, machine, target);
    note(`Machine ${machine.metadata.name}`);
  }
  await setOperation(session, cluster, null);
}

/** Keeps the controllers away from the Cluster and its Machines while it is `ignore`. */
async function setOperation({ kube, signal }: AccessSession, cluster: Cluster, value: string | null): Promise<void> {
  const metadata = { annotations: { [openmcpKeys.operation]: value } };
  await kube.merge(Cluster, objectKeyOf(cluster), { metadata }, {}, signal);
}

function describeSecret({ namespace, clock }: AccessSession, { target, bundle, found }: Adoption): Secret {
  const ref = clusterIdentityOf(target.cluster);
  return {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: {
      ...{ namespace, name: clusterSecretsName(ref) },
      labels: { [labels.provider]: target.instance.provider, [labels.cluster]: clusterId(ref) },
      annotations: {
        ...clusterIdentityAnnotations(ref),
        [annotations.kubernetesVersion]: found.kubernetesVersion,
        [annotations.endpoint]: found.endpoint,
        // It was bootstrapped long ago, by others.
        [annotations.bootstrappedAt]: clock.now().toISOString(),
      },
    },
    type: 'Opaque',
    data: { [secretsBundleKey]: toBase64(formatSecretsBundle(bundle).reveal()) },
  };
}

/** The Machines of the nodes that have none. One that exists keeps its slot. */
export function planMachines(target: AdoptionTarget, { nodes, endpoint }: AdoptableCluster): Machine[] {
  const used = new Map<string, Set<number>>();
  for (const { spec } of target.machines) used.set(spec.pool, (used.get(spec.pool) ?? new Set()).add(spec.slot));
  const known = new Set(target.machines.map(({ metadata }) => metadata.name));
  return nodes
    .filter(({ name }) => !known.has(name))
    .map((node) => {
      const pool = node.role === 'controlplane' ? controlPlanePool : workerPool;
      const taken = used.get(pool) ?? new Set();
      let slot = 0;
      while (taken.has(slot)) slot += 1;
      used.set(pool, taken.add(slot));
      return describeMachine(target, node, { pool, slot, endpoint });
    });
}

function describeMachine(
  { cluster, instance, config, platform, size }: AdoptionTarget,
  { name, address, role, talosVersion, kubernetesVersion }: AdoptableNode,
  place: Pick<Machine['spec'], 'pool' | 'slot' | 'endpoint'>,
): Machine {
  const ref = clusterIdentityOf(cluster);
  const { provider, environment, namespace } = instance;
  return {
    apiVersion: `${group}/${version}`,
    kind: 'Machine',
    metadata: {
      name,
      labels: {
        [labels.provider]: provider,
        [labels.cluster]: clusterId(ref),
        [labels.role]: role,
        [labels.pool]: place.pool,
      },
      annotations: clusterIdentityAnnotations(ref),
    },
    spec: {
      providerRef: { name: provider, environment, namespace },
      providerConfigRef: { name: config },
      clusterRef: ref,
      ...{ platform, role, size, address, ...place },
      ...{ talosVersion, kubernetesVersion },
    },
  };
}

async function createMachine(
  { kube, signal }: AccessSession,
  machine: Machine,
  { cluster }: Pick<AdoptionTarget, 'cluster'>,
): Promise<void> {
  try {
    await kube.create(Machine, machine, signal);
  } catch (error) {
    if (!isAlreadyExists(error)) throw error;
    const present = await kube.get(Machine, { name: machine.metadata.name }, signal);
    if (!isOfCluster(present, clusterIdentityOf(cluster)))
      throw new ProviderError('NAME_COLLISION', `Machine ${machine.metadata.name} was created for another Cluster.`);
  }
}
