import type { SecretString } from '../../../lib/secret-string.ts';
import { findApiServerPod, hasRenderedTrust } from '../../../talos/client/api-server-pod.ts';
import { type OidcTrust, setOidcTrust } from '../../../talos/config/machine-config.ts';
import type { ControlPlane } from '../../shared/control-planes/control-plane.ts';
import { findServingProblem } from '../../shared/control-planes/health-problems.ts';
import { type NodeFailure, queryNode } from '../../shared/control-planes/query-node.ts';
import { readPersistentConfig, type VirtualAddressState } from '../../shared/control-planes/virtual-address.ts';

/** A control plane whose configuration differs from the desired trust. */
export interface TrustDifference {
  readonly kind: 'differs';
  /** The configuration to apply. */
  readonly config: SecretString;
  /** Whether it holds the virtual address of the control planes. */
  readonly sharedAddress: VirtualAddressState;
  /** Its current configuration has the previous trust. */
  readonly isEarlierRun: boolean;
}

/** The trust state of a control plane. */
export type ControlPlaneTrust =
  | TrustDifference
  /** The configuration is applied, but its API server does not run with it yet. */
  | { readonly kind: 'waits'; readonly message: string }
  | { readonly kind: 'trusts' }
  | NodeFailure;

/** Compares the configuration of the node and its running API server with the desired trust. Read-only. */
export async function observeControlPlaneTrust(
  controlPlane: ControlPlane,
  trust: readonly OidcTrust[],
  before: readonly OidcTrust[] | undefined,
): Promise<ControlPlaneTrust> {
  return await queryNode(controlPlane, async (node) => {
    const { config: present, sharedAddress } = await readPersistentConfig(node, controlPlane);
    const config = setOidcTrust(present, trust);
    const isEarlierRun = before !== undefined && setOidcTrust(present, before) === undefined;
    if (config) return { kind: 'differs', config, sharedAddress, isEarlierRun };
    const pod = await findApiServerPod(node, controlPlane);
    if (!pod || !(await hasRenderedTrust(node, pod, trust, controlPlane)))
      return { kind: 'waits', message: 'it is applying its new configuration' };
    const message = await findServingProblem(controlPlane, pod);
    return message ? { kind: 'waits', message } : { kind: 'trusts' };
  });
}
