import { Secret } from '../../../src/kube/core-types.ts';
import { isForbidden, KubeError } from '../../../src/kube/errors.ts';
import type { KubeObject, ResourceType } from '../../../src/kube/resource.ts';
import { ClusterSession } from '../cluster-session.ts';
import type { Screen } from '../output/screen.ts';
import { DemoFailed, waitForResult } from '../wait-for-result.ts';

export interface ConfigMap extends KubeObject {
  data?: Record<string, string>;
}
export const ConfigMap: ResourceType<ConfigMap> = {
  group: '',
  version: 'v1',
  kind: 'ConfigMap',
  plural: 'configmaps',
  namespaced: true,
};

/** The namespace in which the samples' AccessRequest may write. */
export const sampleNamespace = 'hello';

/** Uses the granted kubeconfig for allowed requests, and verifies that others are rejected. */
export async function demonstrateAccess(kubeconfig: string, screen: Screen): Promise<void> {
  const session = new ClusterSession(kubeconfig);
  try {
    const note: ConfigMap = {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'greeting', namespace: sampleNamespace },
      data: { text: 'made with the granted token' },
    };
    await session.client.apply(ConfigMap, note);
    const read = await session.client.get(ConfigMap, { namespace: sampleNamespace, name: 'greeting' });
    screen.step(`allowed: ConfigMap ${sampleNamespace}/greeting says "${read.data?.['text']}"`);
    screen.step(`refused: ${await expectForbidden(session)}`);
  } finally {
    await session.close();
  }
}

async function expectForbidden(session: ClusterSession): Promise<string> {
  try {
    await session.client.list(Secret, { namespace: 'kube-system' });
  } catch (error) {
    if (isForbidden(error)) return (error as Error).message;
    throw error;
  }
  throw new DemoFailed('The granted token may read the Secrets of kube-system: that was not asked for.');
}

/** Shows the user of a kubeconfig, as the cluster sees it. */
export async function showIdentity(kubeconfig: string, screen: Screen): Promise<void> {
  const session = new ClusterSession(kubeconfig);
  try {
    const { username } = await session.client.reviewSelf();
    screen.step(`the cluster knows the bearer of this kubeconfig as ${username}`);
  } finally {
    await session.close();
  }
}

/** Verifies that the granted token is rejected. A real API server may cache a valid token for ten seconds. */
export async function proveRevoked(kubeconfig: string, screen: Screen): Promise<void> {
  const session = new ClusterSession(kubeconfig);
  try {
    await waitForResult('The end of the granted token', 20, async () => {
      try {
        await session.client.reviewSelf();
        return undefined;
      } catch (error) {
        if (error instanceof KubeError && error.status === 401) return true;
        throw error;
      }
    });
    screen.step('the granted kubeconfig is worth nothing any more: 401');
  } finally {
    await session.close();
  }
}
