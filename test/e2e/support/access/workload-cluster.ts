import { Machine } from '../../../../src/api/machine.ts';
import { accessRequestId, clusterSecretsName, labels } from '../../../../src/api/names.ts';
import { AccessRequest, type NamespacedRef } from '../../../../src/api/openmcp/types.ts';
import { readClusterSecrets } from '../../../../src/controllers/shared/secrets/cluster-secrets.ts';
import { KubeClient } from '../../../../src/kube/client/client.ts';
import {
  ClusterRole,
  ClusterRoleBinding,
  Secret as KubeSecret,
  Role,
  RoleBinding,
  ServiceAccount,
} from '../../../../src/kube/core-types.ts';
import { KubeError } from '../../../../src/kube/errors.ts';
import type { KubeObject, ResourceType } from '../../../../src/kube/resource.ts';
import { loadApiServerConnection } from '../../../../src/kube/transport/api-server-connection.ts';
import { Transport } from '../../../../src/kube/transport/transport.ts';
import { systemClock } from '../../../../src/lib/clock.ts';
import { SecretString } from '../../../../src/lib/secret-string.ts';
import { openTalosClient, type TalosClient } from '../../../../src/talos/client/client.ts';
import { createTalosCredentials } from '../../../../src/talos/secrets/client-credentials.ts';
import type { SecretsBundle } from '../../../../src/talos/secrets/secrets-bundle.ts';
import { renderAdminKubeconfig } from '../../../talos/admin-kubeconfig.ts';
import { type Testbed, userAgents } from '../testbed/testbed.ts';

export interface ConfigMap extends KubeObject {
  data?: Record<string, string>;
}
/** A harmless kind to create and to read. */
export const ConfigMap: ResourceType<ConfigMap> = {
  group: '',
  version: 'v1',
  kind: 'ConfigMap',
  plural: 'configmaps',
  namespaced: true,
};

export const clientFromKubeconfig = (kubeconfig: SecretString): KubeClient =>
  new KubeClient(new Transport(loadApiServerConnection({ text: kubeconfig }), { userAgent: userAgents.test }), {
    fieldManager: 'e2e-test',
    deadlineSeconds: 10,
  });

/** The secrets bundle of a Cluster. */
export async function readSecretsBundle({ platform, namespace }: Testbed, ref: NamespacedRef): Promise<SecretsBundle> {
  return readClusterSecrets(await platform.get(KubeSecret, { namespace, name: clusterSecretsName(ref) })).bundle;
}

/** Makes calls as administrator of a Cluster. */
export async function withAdminClient<T>(
  testbed: Testbed,
  ref: NamespacedRef,
  work: (admin: KubeClient) => Promise<T>,
): Promise<T> {
  return await useAndClose(await openAdminClient(testbed, ref), work);
}

/** A client for an administrator of a Cluster, for repeated calls. The caller closes it. */
export async function openAdminClient(testbed: Testbed, ref: NamespacedRef): Promise<KubeClient> {
  return clientFromKubeconfig(await adminKubeconfig(testbed, ref));
}

/** The kubeconfig of an administrator of a Cluster. */
export async function adminKubeconfig(testbed: Testbed, ref: NamespacedRef): Promise<SecretString> {
  const { status } = await testbed.objects.getCluster(ref);
  const server = status?.endpoints?.[0]?.url ?? '';
  const about = { clusterName: ref.name, server, lifetimeSeconds: 600, now: new Date() };
  return await renderAdminKubeconfig(await readSecretsBundle(testbed, ref), about);
}

/** Makes calls with the kubeconfig of a granted AccessRequest. */
export async function withGrantedClient<T>(
  testbed: Testbed,
  ref: NamespacedRef,
  work: (holder: KubeClient) => Promise<T>,
): Promise<T> {
  return await useAndClose(clientFromKubeconfig(new SecretString(await grantedKubeconfig(testbed, ref))), work);
}

/** Keeps a client with the granted access, to test it after its withdrawal. The caller closes it. */
export async function openGrantedClient(testbed: Testbed, ref: NamespacedRef): Promise<KubeClient> {
  return clientFromKubeconfig(new SecretString(await grantedKubeconfig(testbed, ref)));
}

export async function accessSecret({ platform }: Testbed, ref: NamespacedRef): Promise<KubeSecret> {
  const { status } = await platform.get(AccessRequest, ref);
  return await platform.get(KubeSecret, { namespace: ref.namespace, name: status?.secretRef?.name ?? '(none)' });
}

export async function grantedKubeconfig(testbed: Testbed, ref: NamespacedRef): Promise<string> {
  const { data } = await accessSecret(testbed, ref);
  return Buffer.from(data?.['kubeconfig'] ?? '', 'base64').toString('utf8');
}

/** Makes calls as administrator of a node. */
export async function withTalosAdminClient<T>(
  testbed: Testbed,
  ref: NamespacedRef,
  address: string,
  work: (node: TalosClient) => Promise<T>,
): Promise<T> {
  const node = openTalosClient({
    address,
    credentials: createTalosCredentials(await readSecretsBundle(testbed, ref), systemClock),
  });
  return await useAndClose(node, work);
}

/** Ids of the voting members of etcd by node name, as one control plane Machine lists them. */
export async function etcdVoters(
  testbed: Testbed,
  cluster: NamespacedRef,
  machine: string,
): Promise<ReadonlyMap<string, string>> {
  const { status } = await testbed.platform.get(Machine, { name: machine });
  const members = await withTalosAdminClient(testbed, cluster, status?.address ?? '', (node) => node.etcdMembers());
  return new Map(members.filter(({ learner }) => !learner).map(({ name, id }) => [name, id]));
}

async function useAndClose<C extends { close(): void | Promise<void> }, T>(
  client: C,
  work: (client: C) => Promise<T>,
): Promise<T> {
  try {
    return await work(client);
  } finally {
    await client.close();
  }
}

/** `allowed`, or the status code with which the API server rejected the request. */
export async function accessResult(request: Promise<unknown>): Promise<'allowed' | number> {
  try {
    await request;
    return 'allowed';
  } catch (error) {
    if (error instanceof KubeError) return error.status;
    throw error;
  }
}

const accessKinds: readonly ResourceType[] = [ServiceAccount, ClusterRole, ClusterRoleBinding, Role, RoleBinding];

/** Everything in a Cluster that carries the ownership mark of a request, as `Role inside/name`. */
export async function listAccessObjects(
  testbed: Testbed,
  cluster: NamespacedRef,
  request: NamespacedRef,
): Promise<string[]> {
  const id = accessRequestId(testbed.environment, 'talos', request);
  return await withAdminClient(testbed, cluster, async (admin) => {
    const marked = await listLabelled(admin, `${labels.access}=${id}`);
    return marked.map((name) => name.replaceAll(id, '<id>'));
  });
}

/** Every account, role and binding that a selector finds, as `Role inside/name`. */
export async function listLabelled(admin: KubeClient, labelSelector: string): Promise<string[]> {
  const lists = await Promise.all(accessKinds.map((type) => admin.list(type, { labelSelector })));
  return lists.flatMap((list, i) =>
    list.items.map(({ metadata }) => {
      const place = metadata.namespace ? `${metadata.namespace}/` : '';
      return `${accessKinds[i]?.kind} ${place}${metadata.name}`;
    }),
  );
}
