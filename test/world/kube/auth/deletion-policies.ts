import type { ApiResource } from '../builtin/resources.ts';
import { compileExpression } from '../cel/compile.ts';
import { ApiError, forbiddenError } from '../errors.ts';
import { asArray, asObject, asText } from '../json.ts';
import type { RequestContext } from '../request/context.ts';
import { viewThroughResource } from '../request/object-view.ts';
import type { ApiObject } from '../storage/store.ts';

const group = 'admissionregistration.k8s.io';
export const policyStorage = `${group}/validatingadmissionpolicies`;
export const bindingStorage = `${group}/validatingadmissionpolicybindings`;

const reasonCodes: Readonly<Record<string, number>> = {
  Unauthorized: 401,
  Forbidden: 403,
  Invalid: 422,
  RequestEntityTooLarge: 413,
};

/** Evaluates the active policies for a deletion; other operations and selectors are not simulated. */
export function checkDeletionPolicies(context: RequestContext, resource: ApiResource, stored: ApiObject): void {
  const { storage } = context;
  for (const binding of storage.all(bindingStorage, undefined)) {
    const spec = asObject(binding['spec']);
    const policy = storage.read(policyStorage, undefined, asText(spec['policyName']));
    if (!policy || !asArray(spec['validationActions']).includes('Deny') || !matches(policy, resource)) continue;
    const rejection = firstFailedValidation(policy, viewThroughResource(resource, stored));
    if (!rejection) continue;
    const words = `ValidatingAdmissionPolicy '${policy.metadata.name}' with binding '${binding.metadata.name}' denied request: ${rejection.message}`;
    const { status } = forbiddenError(resource, stored.metadata.name, words, [{ message: words }]);
    throw new ApiError(reasonCodes[rejection.reason] ?? 422, rejection.reason, status.message ?? words, status.details);
  }
}

function matches(policy: ApiObject, { group: own, version, plural }: ApiResource): boolean {
  const constraints = asObject(asObject(policy['spec'])['matchConstraints']);
  return asArray(constraints['resourceRules']).some((entry) => {
    const rule = asObject(entry);
    const has = (field: string, value: string): boolean => {
      const values = asArray(rule[field]);
      return values.includes('*') || values.includes(value);
    };
    return (
      has('apiGroups', own) && has('apiVersions', version) && has('resources', plural) && has('operations', 'DELETE')
    );
  });
}

/** The first failed validation. An error in an expression counts as failed under the failure policy `Fail`. */
function firstFailedValidation(
  policy: ApiObject,
  oldObject: ApiObject,
): { message: string; reason: string } | undefined {
  for (const entry of asArray(asObject(policy['spec'])['validations'])) {
    const { expression, message, reason } = asObject(entry);
    const text = asText(expression);
    if (compileExpression(text, ['object', 'oldObject'])({ object: null, oldObject })) continue;
    return { message: asText(message) || `failed expression: ${text}`, reason: asText(reason) || 'Invalid' };
  }
  return undefined;
}
