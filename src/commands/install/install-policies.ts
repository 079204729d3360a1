import { machineDeletionPolicy } from '../../api/machine-deletion-policy.ts';
import { managedByLabels } from '../../api/names.ts';
import { isNotFound } from '../../kube/errors.ts';
import {
  applyOwnedObject,
  createRetry,
  findOwnedObject,
  type InstallContext,
  type OwnedObject,
} from './owned-object.ts';

const [label = ''] = Object.keys(managedByLabels);
const ownedPolicies = machineDeletionPolicy.map(
  ({ type, object }): OwnedObject => ({ type, object, label, refusal: 'POLICY_OWNED_BY_OTHERS', called: type.kind }),
);

/**
 * Has the API server refuse what could not be taken back. Looks first at both objects: if one belongs to somebody else, nothing is
 * changed and a `POLICY_OWNED_BY_OTHERS` is thrown. One that has no such kinds (before Kubernetes 1.30) is warned of.
 */
export async function installPolicies(context: InstallContext): Promise<void> {
  const persist = createRetry(context);
  for (const one of ownedPolicies) await persist(() => findOwnedObject(one, context));
  try {
    for (const one of ownedPolicies) await persist(() => applyOwnedObject(one, context));
  } catch (error) {
    if (!isNotFound(error)) throw error;
    context.log.warn(
      {},
      'the API server has no ValidatingAdmissionPolicy (Kubernetes 1.30 and later): deleting the Machine of an only control plane is not refused',
    );
  }
}
