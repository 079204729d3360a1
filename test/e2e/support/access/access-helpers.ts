import { expect } from 'vitest';
import type { AccessRequest, NamespacedRef, Permission } from '../../../../src/api/openmcp/types.ts';
import type { KubeClient } from '../../../../src/kube/client/client.ts';
import { ClusterRole, Namespace } from '../../../../src/kube/core-types.ts';
import { eventually } from '../../../support/eventually.ts';
import type { Testbed } from '../testbed/testbed.ts';
import { accessResult, listAccessObjects, withAdminClient, withGrantedClient } from './workload-cluster.ts';

/** Rules that grant read access to a kind of the core group. */
export const coreReadRules = (resource: string): Permission['rules'] => [
  { apiGroups: [''], resources: [resource], verbs: ['get', 'list'] },
];

/** Helpers for AccessRequests in the namespace of one Cluster, and for calls with the granted access. */
export function accessHelpers(open: () => Testbed, cluster: NamespacedRef) {
  const ref = (name: string): NamespacedRef => ({ namespace: cluster.namespace, name });
  const admin = <T>(work: (admin: KubeClient) => Promise<T>): Promise<T> => withAdminClient(open(), cluster, work);

  async function isGranted(name: string): Promise<AccessRequest> {
    return await eventually(`request ${name} is granted`, async () => {
      const request = await open().objects.getRequest(ref(name));
      const { phase, observedGeneration } = request.status ?? {};
      return phase === 'Granted' && observedGeneration === request.metadata.generation && request;
    });
  }

  return {
    ref,
    /** Makes calls to the cluster as its administrator. */
    admin,
    isGranted,
    /** Creates a request, and waits until it is granted. */
    async granted(name: string, token: NonNullable<AccessRequest['spec']['token']>): Promise<AccessRequest> {
      await open().objects.request(ref(name), { clusterRef: cluster, token });
      return await isGranted(name);
    },
    /** Waits until a condition of a request is False, and returns its message. */
    refusal: (name: string, type: string, reason: string): Promise<string> =>
      eventually(`request ${name} is refused with ${reason}`, async () => {
        const { status, metadata } = await open().objects.getRequest(ref(name));
        const found = status?.conditions?.find((condition) => condition.type === type);
        expect(found).toMatchObject({ status: 'False', reason, observedGeneration: metadata.generation });
        expect(status?.phase).toBe('Pending');
        return found?.message;
      }),
    /** The cluster's answer to a call with the access of this request. */
    ask: (name: string, request: (holder: KubeClient) => Promise<unknown>): Promise<'allowed' | number> =>
      withGrantedClient(open(), ref(name), (holder) => accessResult(request(holder))),
    /** The objects in the cluster for a request. */
    objectsOf: (name: string): Promise<string[]> => listAccessObjects(open(), cluster, ref(name)),
    makeNamespace: (name: string): Promise<unknown> =>
      admin((kube) => kube.create(Namespace, { apiVersion: 'v1', kind: 'Namespace', metadata: { name } })),
    makeClusterRole: (name: string, resource: string) =>
      admin((kube) =>
        kube.create(ClusterRole, {
          apiVersion: 'rbac.authorization.k8s.io/v1',
          kind: 'ClusterRole',
          metadata: { name },
          rules: coreReadRules(resource),
        }),
      ),
    isReady: (): Promise<unknown> =>
      eventually(
        'the Cluster is ready',
        async () => (await open().objects.getCluster(cluster)).status?.phase === 'Ready',
        90,
      ),
  };
}
