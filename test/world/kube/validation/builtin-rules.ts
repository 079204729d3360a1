import { policyStorage } from '../auth/deletion-policies.ts';
import type { ApiResource } from '../builtin/resources.ts';
import { type FieldError, fieldErrors } from '../errors.ts';
import { asArray, asObject, asText, equal, isObject, type JsonObject } from '../json.ts';
import type { ApiObject } from '../storage/store.ts';
import { configKeyProblems } from './names.ts';

/** The behaviour of the built-in kinds beyond their schema: defaults before a write, and validation rules. */

/** Changes a new object in place before it is checked. */
export function prepareCreate(resource: ApiResource, object: ApiObject): void {
  if (resource.subresources.includes('status') && resource.storage !== 'nodes') delete object['status'];
  switch (resource.storage) {
    case 'namespaces':
      object['spec'] = { finalizers: ['kubernetes'] };
      object['status'] = { phase: 'Active' };
      object.metadata.labels = { ...object.metadata.labels, 'kubernetes.io/metadata.name': object.metadata.name };
      break;
    case 'pods':
      object['status'] = { phase: 'Pending', qosClass: 'BestEffort' };
      object['spec'] = { restartPolicy: 'Always', terminationGracePeriodSeconds: 30, ...asObject(object['spec']) };
      break;
    case 'apps/deployments':
    case 'apps/replicasets':
    case 'apps/daemonsets':
    case 'batch/jobs':
      object['status'] = {};
      break;
    default:
      prepareBoth(resource, object);
  }
}

/** Changes the next state of an object in place before it is checked. */
export function prepareUpdate(resource: ApiResource, object: ApiObject, old: ApiObject): void {
  switch (resource.storage) {
    case 'namespaces':
      object['spec'] = old['spec'];
      object.metadata.labels = { ...object.metadata.labels, 'kubernetes.io/metadata.name': object.metadata.name };
      break;
    default:
      prepareBoth(resource, object);
  }
}

/** The first pod CIDR also has a field of its own, from the time of a single CIDR. */
function fillPodRanges(node: ApiObject): void {
  const spec = asObject(node['spec']);
  if (spec['podCIDR'] && spec['podCIDRs'] === undefined) node['spec'] = { ...spec, podCIDRs: [spec['podCIDR']] };
}

/** The common part of create and update. */
function prepareBoth(resource: ApiResource, object: ApiObject): void {
  if (resource.storage === 'secrets') {
    mergeStringData(object);
    object['type'] ??= 'Opaque';
  }
  if (resource.storage === 'nodes') fillPodRanges(object);
  if (resource.storage === policyStorage) fillPolicy(object);
  if (!resource.storage.startsWith('rbac.authorization.k8s.io/')) return;
  if (resource.kind.endsWith('Binding')) {
    const ref = asObject(object['roleRef']);
    object['roleRef'] = { apiGroup: 'rbac.authorization.k8s.io', ...ref };
    for (const subject of asArray(object['subjects']).map(asObject)) {
      if (subject['kind'] !== 'ServiceAccount') subject['apiGroup'] ??= 'rbac.authorization.k8s.io';
      else if (!subject['apiGroup']) delete subject['apiGroup'];
    }
  } else {
    object['rules'] ??= null;
  }
}

/** The defaults of a policy; the same apply below `matchResources` of a binding, which is unused here. */
function fillPolicy(object: ApiObject): void {
  const spec = asObject(object['spec']);
  const constraints = asObject(spec['matchConstraints']);
  const resourceRules = asArray(constraints['resourceRules']).map((rule) => ({ scope: '*', ...asObject(rule) }));
  const matchConstraints = {
    matchPolicy: 'Equivalent',
    namespaceSelector: {},
    objectSelector: {},
    ...constraints,
    resourceRules,
  };
  object['spec'] = { failurePolicy: 'Fail', ...spec, matchConstraints };
}

function mergeStringData(object: ApiObject): void {
  const given = object['stringData'];
  delete object['stringData'];
  if (!isObject(given)) return;
  const data = { ...asObject(object['data']) };
  for (const [key, value] of Object.entries(given)) data[key] = Buffer.from(asText(value)).toString('base64');
  object['data'] = data;
}

/** The validation rules of a built-in kind beyond its schema. */
export function builtinKindErrors(resource: ApiResource, object: ApiObject, old: ApiObject | undefined): FieldError[] {
  switch (resource.storage) {
    case 'secrets':
      return secretErrors(object, old);
    case 'configmaps':
      return [...keyErrors(object, 'data'), ...keyErrors(object, 'binaryData'), ...immutableErrors(object, old)];
    case 'coordination.k8s.io/leases':
      return leaseErrors(object);
    case 'nodes':
      return nodeErrors(object, old);
    case 'events':
      return coreEventErrors(object);
    case 'rbac.authorization.k8s.io/roles':
    case 'rbac.authorization.k8s.io/clusterroles':
      return roleErrors(object, resource.namespaced);
    case 'rbac.authorization.k8s.io/rolebindings':
    case 'rbac.authorization.k8s.io/clusterrolebindings':
      return bindingErrors(object, old, resource.namespaced);
    case 'apps/deployments':
    case 'batch/jobs':
      return isObject(asObject(object['spec'])['template']) ? [] : [fieldErrors.required('spec.template')];
    default:
      return [];
  }
}

const keyErrors = (object: ApiObject, field: string): FieldError[] =>
  Object.keys(asObject(object[field])).flatMap((key) =>
    configKeyProblems(key).map((problem) => fieldErrors.invalid(`${field}[${key}]`, key, problem)),
  );

function immutableErrors(object: ApiObject, old: ApiObject | undefined): FieldError[] {
  if (old?.['immutable'] !== true) return [];
  const frozen = 'field is immutable when `immutable` is set';
  const errors = ['data', 'binaryData']
    .filter((field) => !equal(asObject(object[field]), asObject(old[field])))
    .map((field) => fieldErrors.forbidden(field, frozen));
  return object['immutable'] === true ? errors : [...errors, fieldErrors.forbidden('immutable', frozen)];
}

const requiredKeys: Readonly<Record<string, readonly string[]>> = {
  'kubernetes.io/tls': ['tls.crt', 'tls.key'],
  'kubernetes.io/dockerconfigjson': ['.dockerconfigjson'],
  'kubernetes.io/dockercfg': ['.dockercfg'],
  'kubernetes.io/ssh-auth': ['ssh-privatekey'],
};

function secretErrors(object: ApiObject, old: ApiObject | undefined): FieldError[] {
  const data = asObject(object['data']);
  const errors = [...keyErrors(object, 'data'), ...immutableErrors(object, old)];
  for (const key of requiredKeys[asText(object['type'])] ?? []) {
    if (data[key] === undefined) errors.push(fieldErrors.required(`data[${key}]`));
  }
  if (object['type'] === 'kubernetes.io/service-account-token') {
    const annotation = 'kubernetes.io/service-account.name';
    if (!object.metadata.annotations?.[annotation]) {
      errors.push(fieldErrors.required(`metadata.annotations[${annotation}]`));
    }
  }
  const size = Object.values(data).reduce((sum: number, value) => sum + (asText(value).length * 3) / 4, 0);
  if (size > 1024 * 1024) errors.push(fieldErrors.tooLong('data', 1024 * 1024));
  if (old && object['type'] !== old['type'])
    errors.push(fieldErrors.invalid('type', object['type'], 'field is immutable'));
  return errors;
}

function leaseErrors(object: ApiObject): FieldError[] {
  const spec = asObject(object['spec']);
  const errors: FieldError[] = [];
  const seconds = spec['leaseDurationSeconds'];
  if (typeof seconds === 'number' && seconds <= 0) {
    errors.push(fieldErrors.invalid('spec.leaseDurationSeconds', seconds, 'must be greater than 0'));
  }
  const transitions = spec['leaseTransitions'];
  if (typeof transitions === 'number' && transitions < 0) {
    errors.push(fieldErrors.invalid('spec.leaseTransitions', transitions, 'must be greater than or equal to 0'));
  }
  return errors;
}

/** The values that a cloud or a range allocator set on a node are immutable. */
function nodeErrors(object: ApiObject, old: ApiObject | undefined): FieldError[] {
  const before = asObject(old?.['spec']);
  const spec = asObject(object['spec']);
  const errors: FieldError[] = [];
  if (before['podCIDRs'] && !equal(spec['podCIDRs'], before['podCIDRs'])) {
    const text = 'node updates may not change podCIDR except from "" to valid';
    errors.push(fieldErrors.forbidden('spec.podCIDRs', text));
  }
  if (before['providerID'] && spec['providerID'] !== before['providerID']) {
    const text = 'node updates may not change providerID except from "" to valid';
    errors.push(fieldErrors.forbidden('spec.providerID', text));
  }
  return errors;
}

function coreEventErrors(object: ApiObject): FieldError[] {
  const about = asText(asObject(object['involvedObject'])['namespace']);
  const own = object.metadata.namespace ?? '';
  const fits = about === '' ? own === 'default' : own === about;
  return fits ? [] : [fieldErrors.invalid('involvedObject.namespace', about, 'does not match event.namespace')];
}

function roleErrors(object: ApiObject, namespaced: boolean): FieldError[] {
  return asArray(object['rules']).flatMap((given, i) => {
    const rule = asObject(given);
    const path = `rules[${i}]`;
    const filled = (field: string): boolean => asArray(rule[field]).length > 0;
    if (!filled('verbs')) return [fieldErrors.required(`${path}.verbs`, 'verbs must contain at least one value')];
    if (filled('nonResourceURLs')) {
      if (namespaced) {
        return [
          fieldErrors.invalid(
            `${path}.nonResourceURLs`,
            rule['nonResourceURLs'],
            'namespaced rules cannot apply to non-resource URLs',
          ),
        ];
      }
      if (!filled('apiGroups') && !filled('resources') && !filled('resourceNames')) return [];
      return [
        fieldErrors.invalid(
          `${path}.nonResourceURLs`,
          rule['nonResourceURLs'],
          'rules cannot apply to both regular resources and non-resource URLs',
        ),
      ];
    }
    if (!filled('apiGroups')) {
      return [fieldErrors.required(`${path}.apiGroups`, 'resource rules must supply at least one api group')];
    }
    if (!filled('resources')) {
      return [fieldErrors.required(`${path}.resources`, 'resource rules must supply at least one resource')];
    }
    return [];
  });
}

function bindingErrors(object: ApiObject, old: ApiObject | undefined, namespaced: boolean): FieldError[] {
  const ref = asObject(object['roleRef']);
  const kinds = namespaced ? ['Role', 'ClusterRole'] : ['ClusterRole'];
  const errors: FieldError[] = [];
  if (ref['apiGroup'] !== 'rbac.authorization.k8s.io') {
    errors.push(fieldErrors.unsupported('roleRef.apiGroup', ref['apiGroup'], ['rbac.authorization.k8s.io']));
  }
  if (!kinds.includes(asText(ref['kind']))) {
    errors.push(fieldErrors.unsupported('roleRef.kind', asText(ref['kind']), kinds));
  }
  if (!ref['name']) errors.push(fieldErrors.required('roleRef.name'));
  errors.push(
    ...asArray(object['subjects']).flatMap((subject, i) => subjectErrors(asObject(subject), `subjects[${i}]`)),
  );
  if (old && !equal(ref, old['roleRef'])) {
    errors.push(fieldErrors.invalid('roleRef', goNames(ref), 'cannot change roleRef'));
  }
  return errors;
}

/** The message shows the Go struct, whose field names begin with a capital. */
const goNames = (ref: JsonObject): JsonObject => ({ APIGroup: ref['apiGroup'], Kind: ref['kind'], Name: ref['name'] });

function subjectErrors(subject: JsonObject, path: string): FieldError[] {
  const errors = subject['name'] ? [] : [fieldErrors.required(`${path}.name`)];
  switch (subject['kind']) {
    case 'ServiceAccount':
      return subject['namespace'] ? errors : [...errors, fieldErrors.required(`${path}.namespace`)];
    case 'User':
    case 'Group':
      return errors;
    default:
      return [
        ...errors,
        fieldErrors.unsupported(`${path}.kind`, asText(subject['kind']), ['ServiceAccount', 'User', 'Group']),
      ];
  }
}
