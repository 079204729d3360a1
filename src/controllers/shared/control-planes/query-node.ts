import { ProviderError } from '../../../lib/errors.ts';
import type { SecretString } from '../../../lib/secret-string.ts';
import type { TalosClient } from '../../../talos/client/client.ts';
import type { ControlPlane } from './control-plane.ts';

/** A node that does not answer or rejects a request. */
export interface NodeFailure {
  readonly kind: 'silent';
  readonly message: string;
  readonly code?: string;
}

/** Applies a configuration without a reboot, or fails. Mode `try`: Talos reverts it after one minute. */
export async function applyNodeConfig(
  controlPlane: ControlPlane,
  config: SecretString,
  mode: 'no-reboot' | 'try' = 'no-reboot',
): Promise<NodeFailure | undefined> {
  return await queryNode(controlPlane, async (node) => {
    await node.applyConfiguration(config, mode, controlPlane);
    return undefined;
  });
}

/** Sends requests to a node. Errors of the node become a NodeFailure. */
export async function queryNode<T>(
  controlPlane: ControlPlane,
  work: (node: TalosClient) => Promise<T>,
): Promise<T | NodeFailure> {
  const node = controlPlane.services.targets.talos(controlPlane.cluster, controlPlane.address);
  try {
    return await work(node);
  } catch (error) {
    controlPlane.signal.throwIfAborted();
    if (error instanceof ProviderError && error.retry !== 'bug')
      return { kind: 'silent', message: error.message.replace(/\.$/, ''), code: error.code };
    throw error;
  } finally {
    await node.close();
  }
}
