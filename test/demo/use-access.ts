import { Secret } from '../../src/kube/core-types.ts';
import { isForbidden, KubeError } from '../../src/kube/errors.ts';
import type { KubeObject, ResourceType } from '../../src/kube/resource.ts';
import type { Screen } from './screen.ts';
import { Session } from './session.ts';
import { DemoFailed, until } from './wait.ts';

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

/** Where the samples' AccessRequest may write. */
export const namespace = 'hello';

/** Does with the granted kubeconfig what it allows, and is refused what it does not. */
export async function useAccess(kubeconfig: string, screen: Screen): Promise<void> {
  const session = new Session(kubeconfig);
  try {
    const note: ConfigMap = {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'greeting', namespace },
      data: { text: 'made with the granted token' },
    };
    await session.client.apply(ConfigMap, note);
    const read = await session.client.get(ConfigMap, { namespace, name: 'greeting' });
    screen.step(`allowed: ConfigMap ${namespace}/greeting says "${read.data?.['text']}"`);
    screen.step(`refused: ${await refusal(session)}`);
  } finally {
    await session.close();
  }
}

async function refusal(session: Session): Promise<string> {
  try {
    await session.client.list(Secret, { namespace: 'kube-system' });
  } catch (error) {
    if (isForbidden(error)) return (error as Error).message;
    throw error;
  }
  throw new DemoFailed('The granted token may read the Secrets of kube-system: that was not asked for.');
}

/** Who one is with a kubeconfig, as the cluster sees it. */
export async function showIdentity(kubeconfig: string, screen: Screen): Promise<void> {
  const session = new Session(kubeconfig);
  try {
    const { username } = await session.client.reviewSelf();
    screen.step(`the cluster knows the bearer of this kubeconfig as ${username}`);
  } finally {
    await session.close();
  }
}

/** The token that was granted must be worth nothing now. A real API server may remember a good one for ten seconds. */
export async function proveWithdrawn(kubeconfig: string, screen: Screen): Promise<void> {
  const session = new Session(kubeconfig);
  try {
    await until('The end of the granted token', 20, async () => {
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
