import { machinePolicy } from '../api/machine-policy.ts';
import { managedBy } from '../api/names.ts';
import { isNotFound } from '../kube/errors.ts';
import { ensureOwned, findOwned, type InstallContext, type Owned, persistently } from './install-owned.ts';

const [label = ''] = Object.keys(managedBy);
const owned = machinePolicy.map(
  ({ type, object }): Owned => ({ type, object, label, refusal: 'POLICY_OWNED_BY_OTHERS', called: type.kind }),
);

/**
 * Has the API server refuse what could not be taken back. Looks first at both objects: if one belongs to somebody else, nothing is
 * changed and a `POLICY_OWNED_BY_OTHERS` is thrown. One that has no such kinds (before Kubernetes 1.30) is warned of.
 */
export async function installPolicies(context: InstallContext): Promise<void> {
  const persist = persistently(context);
  for (const one of owned) await persist(() => findOwned(one, context));
  try {
    for (const one of owned) await persist(() => ensureOwned(one, context));
  } catch (error) {
    if (!isNotFound(error)) throw error;
    context.log.warn(
      {},
      'the API server has no ValidatingAdmissionPolicy (Kubernetes 1.30 and later): deleting the Machine of an only control plane is not refused',
    );
  }
}
