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
  ({ type, object }): OwnedObject => ({
    type,
    object,
    label,
    rejectionReason: 'POLICY_OWNED_BY_OTHERS',
    called: type.kind,
  }),
);

/**
 * Installs the admission policy that makes the API server refuse irreversible deletions. Both objects are read first:
 * if one has another owner, nothing is changed and `POLICY_OWNED_BY_OTHERS` is thrown. An API server without these
 * kinds (before Kubernetes 1.30) only causes a warning.
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
      'the API server has no ValidatingAdmissionPolicy (Kubernetes 1.30 and later): the deletion of the Machine of an only control plane is not rejected',
    );
  }
}
