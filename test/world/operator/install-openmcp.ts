import { installCrds } from '../../../src/commands/install/install-crds.ts';
import type { KubeClient } from '../../../src/kube/client/client.ts';
import { CustomResourceDefinition, Namespace } from '../../../src/kube/core-types.ts';
import { isAlreadyExists } from '../../../src/kube/errors.ts';
import { systemClock } from '../../../src/lib/clock.ts';
import type { Log } from '../../../src/lib/log.ts';
import { openmcpCrds } from './crds.ts';

/** The namespace of the operator and the providers. */
export const systemNamespace = 'openmcp-system';

/**
 * The objects of the operator's own `init`: its kinds and its namespace. Existing kinds are the real ones and stay
 * unchanged. Returns the names of the created ones.
 */
export async function installOpenmcpKinds(
  client: KubeClient,
  log: Log,
  signal: AbortSignal,
): Promise<readonly string[]> {
  const missing: CustomResourceDefinition[] = [];
  for (const crd of openmcpCrds) {
    const { name } = crd.metadata;
    if (!(await client.find(CustomResourceDefinition, { name }, signal))) missing.push(crd);
  }
  await installCrds({ client, crds: missing, clock: systemClock, log, signal, timeoutSeconds: 30 });
  try {
    await client.create(
      Namespace,
      { apiVersion: 'v1', kind: 'Namespace', metadata: { name: systemNamespace } },
      signal,
    );
  } catch (error) {
    if (!isAlreadyExists(error)) throw error;
  }
  return missing.map((crd) => crd.metadata.name);
}
