import { expect } from 'vitest';
import { fleetName } from '../../../../src/api/names.ts';
import type { NamespacedRef } from '../../../../src/api/openmcp/types.ts';
import { ClusterRole, Secret } from '../../../../src/kube/core-types.ts';
import { SecretString } from '../../../../src/lib/secret-string.ts';
import { eventually } from '../../../support/eventually.ts';
import type { Testbed } from '../testbed/testbed.ts';
import { coreReadRules } from './access-helpers.ts';
import { accessResult, ConfigMap, clientFromKubeconfig, withAdminClient } from './workload-cluster.ts';

/** Name of the ClusterRole that {@link publishedHelpers} create for consumers: it reads ConfigMaps. */
export const readerRole = 'reader';

/** Helpers for one Cluster that is published in one namespace. */
export function publishedHelpers(open: () => Testbed, cluster: NamespacedRef, namespace = 'fleet') {
  const name = fleetName(cluster);
  return {
    name,
    secret: (suffix = ''): Promise<Secret> => open().platform.get(Secret, { namespace, name: `${name}${suffix}` }),
    makeReaderRole: (): Promise<unknown> =>
      withAdminClient(open(), cluster, (admin) =>
        admin.create(ClusterRole, {
          apiVersion: 'rbac.authorization.k8s.io/v1',
          kind: 'ClusterRole',
          metadata: { name: readerRole },
          rules: coreReadRules('configmaps').map((rule) => ({ ...rule, verbs: ['get', 'list', 'watch'] })),
        }),
      ),
    /** Waits until the condition is this one, and returns its message. */
    isPublished: (status: 'True' | 'False', reason = 'AsExpected'): Promise<string> =>
      eventually(`Published is ${status}, ${reason}`, async () => {
        const { status: reported } = await open().objects.getCluster(cluster);
        const condition = reported?.conditions?.find(({ type }) => type === 'Published');
        expect(condition).toMatchObject({ status, reason });
        return condition?.message;
      }),
  };
}

export const publishedKubeconfig = ({ data }: Secret): string =>
  Buffer.from(data?.['kubeconfig'] ?? '', 'base64').toString();

/** The answer of a cluster to a consumer with this kubeconfig. */
export async function askWith(kubeconfig: string): Promise<'allowed' | number> {
  const client = clientFromKubeconfig(new SecretString(kubeconfig));
  try {
    return await accessResult(client.list(ConfigMap));
  } finally {
    await client.close();
  }
}

/** Makes the token of a published Secret old enough to be renewed, while it is valid for days. */
export const agedToken = (): Record<string, string> => {
  const at = (days: number): string => `${new Date(Date.now() + days * 24 * 3_600_000).toISOString().slice(0, 19)}Z`;
  return { 'talos.clusters.openmcp.cloud/token-created': at(-25), 'talos.clusters.openmcp.cloud/token-expires': at(5) };
};
