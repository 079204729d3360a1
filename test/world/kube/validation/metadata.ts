import type { ApiResource } from '../builtin/resources.ts';
import { type FieldError, fieldErrors } from '../errors.ts';
import { canonicalJson, equal } from '../json.ts';
import type { ApiMeta, ApiObject } from '../storage/store.ts';
import {
  dns1035LabelProblems,
  dnsLabelProblems,
  dnsSubdomainProblems,
  labelValueProblems,
  pathSegmentProblems,
  qualifiedNameProblems,
} from './names.ts';

function nameProblems(resource: ApiResource, name: string): string[] {
  if (resource.group === 'rbac.authorization.k8s.io') return pathSegmentProblems(name);
  if (resource.storage === 'namespaces') return dnsLabelProblems(name);
  if (resource.storage === 'services') return dns1035LabelProblems(name);
  return dnsSubdomainProblems(name);
}

const standardFinalizers = new Set(['orphan', 'foregroundDeletion', 'kubernetes']);
/** Kinds whose finalizers need no domain. */
const allowsPlainFinalizers = (resource: ApiResource): boolean =>
  resource.definition !== undefined || resource.group === 'apiextensions.k8s.io';
const annotationsLimit = 256 * 1024;

/** The errors of an object's metadata, alone and against the stored object. */
export function metadataErrors(resource: ApiResource, object: ApiObject, old: ApiObject | undefined): FieldError[] {
  const meta = object.metadata;
  return [
    ...(old ? [] : nameErrors(resource, meta)),
    ...labelErrors(meta.labels ?? {}),
    ...annotationErrors(meta.annotations ?? {}),
    ...finalizerErrors(resource, meta, old?.metadata),
    ...ownerErrors(meta),
    ...(old ? immutableErrors(meta, old.metadata) : []),
  ];
}

function nameErrors(resource: ApiResource, meta: ApiMeta): FieldError[] {
  if (!meta.name) return [fieldErrors.required('metadata.name', 'name or generateName is required')];
  return nameProblems(resource, meta.name).map((problem) => fieldErrors.invalid('metadata.name', meta.name, problem));
}

const labelErrors = (labels: Record<string, string>): FieldError[] =>
  Object.entries(labels).flatMap(([name, value]) => [
    ...qualifiedNameProblems(name).map((problem) => fieldErrors.invalid('metadata.labels', name, problem)),
    ...labelValueProblems(value).map((problem) => fieldErrors.invalid('metadata.labels', value, problem)),
  ]);

function annotationErrors(annotations: Record<string, string>): FieldError[] {
  const errors = Object.keys(annotations).flatMap((name) =>
    qualifiedNameProblems(name.toLowerCase()).map((problem) =>
      fieldErrors.invalid('metadata.annotations', name, problem),
    ),
  );
  const size = Object.entries(annotations).reduce((sum, [name, value]) => sum + name.length + value.length, 0);
  return size > annotationsLimit ? [...errors, fieldErrors.tooLong('metadata.annotations', annotationsLimit)] : errors;
}

function finalizerErrors(resource: ApiResource, meta: ApiMeta, old: ApiMeta | undefined): FieldError[] {
  const finalizers = meta.finalizers ?? [];
  const errors = finalizers.flatMap((name, i) => {
    const problems = qualifiedNameProblems(name).map((problem) =>
      fieldErrors.invalid('metadata.finalizers', name, problem),
    );
    if (problems.length > 0 || name.includes('/') || standardFinalizers.has(name) || allowsPlainFinalizers(resource))
      return problems;
    return [
      fieldErrors.invalid(
        `metadata.finalizers[${i}]`,
        name,
        'name is neither a standard finalizer name nor is it fully qualified',
      ),
    ];
  });
  const added = finalizers.filter((name) => !(old?.finalizers ?? []).includes(name));
  if (old?.deletionTimestamp && added.length > 0) {
    const words = added.map((name) => JSON.stringify(name)).join(', ');
    errors.push(
      fieldErrors.forbidden(
        'metadata.finalizers',
        `no new finalizers can be added if the object is being deleted, found new finalizers []string{${words}}`,
      ),
    );
  }
  return errors;
}

function ownerErrors(meta: ApiMeta): FieldError[] {
  const owners = meta.ownerReferences ?? [];
  const errors = owners.flatMap((owner) => {
    const empty = (['apiVersion', 'kind', 'name', 'uid'] as const).filter((field) => !owner[field]);
    return empty.map((field) =>
      fieldErrors.invalid(
        `metadata.ownerReferences.${field}`,
        '',
        field === 'apiVersion' ? 'version must not be empty' : 'must not be empty',
      ),
    );
  });
  const controllers = owners.filter((owner) => owner.controller === true);
  if (controllers.length > 1) {
    const [first, second] = controllers;
    errors.push(
      fieldErrors.invalid(
        'metadata.ownerReferences',
        owners,
        `Only one reference can have Controller set to true. Found "true" in references for ${first?.kind}/${first?.name} and ${second?.kind}/${second?.name}`,
      ),
    );
  }
  return errors;
}

function immutableErrors(meta: ApiMeta, old: ApiMeta): FieldError[] {
  const fields = [
    'name',
    'namespace',
    'uid',
    'creationTimestamp',
    'deletionTimestamp',
    'deletionGracePeriodSeconds',
  ] as const;
  return fields
    .filter((field) => !equal(meta[field], old[field]))
    .map((field) => fieldErrors.invalid(`metadata.${field}`, meta[field] ?? canonicalJson(null), 'field is immutable'));
}
