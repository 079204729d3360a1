import { type FieldError, fieldErrors } from '../errors.ts';
import { asArray, asObject, asText, equal, isObject, type JsonObject } from '../json.ts';
import type { ObjectSchema } from '../schema/schema.ts';
import type { ApiObject } from '../storage/store.ts';
import { dns1035LabelProblems, dnsSubdomainProblems } from '../validation/names.ts';
import { definitionSchemaErrors, schemaAt, unknownFormats } from './definition-schema.ts';

/** Sets the defaults of a definition and its initial status. */
export function prepareDefinition(object: ApiObject, old: ApiObject | undefined): void {
  const spec = { ...asObject(object['spec']) };
  const names = { ...asObject(spec['names']) };
  names['singular'] ??= asText(names['kind']).toLowerCase();
  names['listKind'] ??= `${asText(names['kind'])}List`;
  spec['names'] = names;
  spec['conversion'] ??= { strategy: 'None' };
  if (spec['preserveUnknownFields'] === false) delete spec['preserveUnknownFields'];
  object['spec'] = spec;
  if (old) return;
  object['status'] = {
    acceptedNames: { kind: '', plural: '' },
    conditions: [],
    storedVersions: versionsOf(object).flatMap((version) =>
      version['storage'] === true ? [asText(version['name'])] : [],
    ),
  };
}

const versionsOf = (object: ApiObject): JsonObject[] => asArray(asObject(object['spec'])['versions']).map(asObject);

/** Warnings for an accepted definition. */
export function definitionWarnings(object: ApiObject): string[] {
  const formats = versionsOf(object).flatMap((version) => unknownFormats(schemaOf(version) ?? {}));
  return [...new Set(formats)].map((format) => `unrecognized format ${JSON.stringify(format)}`);
}

const schemaOf = (version: JsonObject): ObjectSchema | undefined => {
  const schema = asObject(version['schema'])['openAPIV3Schema'];
  return isObject(schema) ? schema : undefined;
};

/** Validates a definition's fields, and its changes against the stored one. */
export function definitionErrors(object: ApiObject, old: ApiObject | undefined): FieldError[] {
  const spec = asObject(object['spec']);
  const names = asObject(spec['names']);
  const errors: FieldError[] = [];
  const wanted = `${asText(names['plural'])}.${asText(spec['group'])}`;
  if (object.metadata.name !== wanted) {
    errors.push(fieldErrors.invalid('metadata.name', object.metadata.name, 'must be spec.names.plural+"."+spec.group'));
  }
  errors.push(...groupErrors(object, asText(spec['group'])), ...nameErrors(names));
  if (!['Cluster', 'Namespaced'].includes(asText(spec['scope']))) {
    errors.push(fieldErrors.unsupported('spec.scope', asText(spec['scope']), ['Cluster', 'Namespaced']));
  }
  if (spec['preserveUnknownFields'] === true) {
    errors.push(
      fieldErrors.invalid(
        'spec.preserveUnknownFields',
        true,
        'cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead',
      ),
    );
  }
  errors.push(...versionErrors(object));
  return old ? [...errors, ...changeErrors(object, old)] : errors;
}

function groupErrors(object: ApiObject, group: string): FieldError[] {
  if (!group) return [fieldErrors.required('spec.group')];
  const errors = dnsSubdomainProblems(group).map((problem) => fieldErrors.invalid('spec.group', group, problem));
  if (!group.includes('.'))
    errors.push(fieldErrors.invalid('spec.group', group, 'should be a domain with at least one dot'));
  const isProtected = /(^|\.)(k8s|kubernetes)\.io$/.test(group);
  const annotation = 'api-approved.kubernetes.io';
  if (isProtected && !object.metadata.annotations?.[annotation]) {
    errors.push(
      fieldErrors.required(
        `metadata.annotations[${annotation}]`,
        'protected groups must have approval annotation "api-approved.kubernetes.io", see https://github.com/kubernetes/enhancements/pull/1111',
      ),
    );
  }
  return errors;
}

function nameErrors(names: JsonObject): FieldError[] {
  const errors: FieldError[] = [];
  for (const field of ['plural', 'kind'] as const) {
    const value = asText(names[field]);
    if (!value) errors.push(fieldErrors.required(`spec.names.${field}`));
    else {
      const words = dns1035LabelProblems(value.toLowerCase()).join(',');
      if (field === 'plural' && dns1035LabelProblems(value).length > 0) {
        errors.push(fieldErrors.invalid('spec.names.plural', value, dns1035LabelProblems(value).join(',')));
      } else if (words) {
        errors.push(
          fieldErrors.invalid(
            `spec.names.${field}`,
            value,
            `may have mixed case, but should otherwise match: ${words}`,
          ),
        );
      }
    }
  }
  if (names['listKind'] === names['kind']) {
    errors.push(fieldErrors.invalid('spec.names.listKind', names['listKind'], 'kind and listKind may not be the same'));
  }
  asArray(names['shortNames']).forEach((name, i) => {
    const words = dns1035LabelProblems(asText(name)).join(',');
    if (words) errors.push(fieldErrors.invalid(`spec.names.shortNames[${i}]`, name, words));
  });
  return errors;
}

/** Errors of fields that all versions share have a path at the top of the spec, as in v1beta1. */
function errorPathOf(
  versions: readonly JsonObject[],
  field: string,
  shared: string,
  index: number,
  single: string,
): string {
  const [first] = versions;
  const isShared = versions.every((version) => equal(version[field], first?.[field]));
  return isShared ? `spec.${shared}` : `spec.versions[${index}].${single}`;
}

function versionErrors(object: ApiObject): FieldError[] {
  const versions = versionsOf(object);
  const errors: FieldError[] = [];
  const names = versions.map((version) => asText(version['name']));
  if (new Set(names).size < names.length) {
    errors.push(fieldErrors.invalid('spec.versions', versions, 'must contain unique version names'));
  }
  if (versions.filter((version) => version['storage'] === true).length !== 1) {
    errors.push(
      fieldErrors.invalid('spec.versions', versions, 'must have exactly one version marked as storage version'),
    );
  }
  const seen = new Set<string>();
  versions.forEach((version, i) => {
    const name = names[i] ?? '';
    const problem = dns1035LabelProblems(name).join(',');
    if (problem) errors.push(fieldErrors.invalid(`spec.versions[${i}].name`, name, problem));
    const schema = schemaOf(version);
    if (!schema) {
      errors.push(fieldErrors.required(`spec.versions[${i}].schema.openAPIV3Schema`));
      return;
    }
    const at = (field: string, shared = field, single = field) => errorPathOf(versions, field, shared, i, single);
    const found = [
      ...definitionSchemaErrors(schema, at('schema', 'validation.openAPIV3Schema', 'schema.openAPIV3Schema')),
      ...columnErrors(version, at('additionalPrinterColumns')),
      ...selectableErrors(version, schema, at('selectableFields')),
    ];
    for (const error of found) {
      const mark = `${error.field}: ${error.text}`;
      if (!seen.has(mark)) errors.push(error);
      seen.add(mark);
    }
  });
  return errors;
}

const columnTypes = ['boolean', 'date', 'integer', 'number', 'string'];

function columnErrors(version: JsonObject, path: string): FieldError[] {
  return asArray(version['additionalPrinterColumns']).flatMap((given, i) => {
    const column = asObject(given);
    const here = `${path}[${i}]`;
    const errors: FieldError[] = [];
    if (!column['name']) errors.push(fieldErrors.required(`${here}.name`));
    const type = asText(column['type']);
    const mustBe = `must be one of ${columnTypes.join(',')}`;
    if (!type) errors.push(fieldErrors.required(`${here}.type`, mustBe));
    else if (!columnTypes.includes(type)) errors.push(fieldErrors.invalid(`${here}.type`, type, mustBe));
    const jsonPath = asText(column['jsonPath']);
    if (!jsonPath) errors.push(fieldErrors.required(`${here}.JSONPath`));
    else if (!jsonPath.startsWith('.')) {
      errors.push(fieldErrors.invalid(`${here}.JSONPath`, jsonPath, 'must be a simple json path starting with .'));
    }
    return errors;
  });
}

function selectableErrors(version: JsonObject, schema: ObjectSchema, path: string): FieldError[] {
  const seen = new Set<string>();
  return asArray(version['selectableFields']).flatMap((given, i): FieldError[] => {
    const jsonPath = asText(asObject(given)['jsonPath']);
    const here = `${path}[${i}].jsonPath`;
    if (!jsonPath) return [fieldErrors.required(here)];
    if (seen.has(jsonPath)) return [fieldErrors.duplicate(here, jsonPath)];
    seen.add(jsonPath);
    if (jsonPath.startsWith('.metadata'))
      return [fieldErrors.invalid(here, jsonPath, 'must not point to fields in metadata')];
    const part = schemaAt(schema, jsonPath);
    if (!part) return [fieldErrors.invalid(here, jsonPath, 'is an invalid path: does not refer to a valid field')];
    if (['string', 'boolean', 'integer'].includes(part.type ?? '')) return [];
    return [
      fieldErrors.invalid(
        here,
        jsonPath,
        'must point to a field of type string, boolean or integer. Enum string fields and strings with formats are allowed.',
      ),
    ];
  });
}

function changeErrors(object: ApiObject, old: ApiObject): FieldError[] {
  const [spec, before] = [asObject(object['spec']), asObject(old['spec'])];
  const errors: FieldError[] = [];
  for (const field of ['group', 'scope'] as const) {
    if (spec[field] !== before[field])
      errors.push(fieldErrors.invalid(`spec.${field}`, spec[field], 'field is immutable'));
  }
  const names = asObject(spec['names']);
  if (names['plural'] !== asObject(before['names'])['plural']) {
    errors.push(fieldErrors.invalid('spec.names.plural', names['plural'], 'field is immutable'));
  }
  const present = versionsOf(object).map((version) => version['name']);
  asArray(asObject(old['status'])['storedVersions']).forEach((version, i) => {
    if (present.includes(version)) return;
    const text = `missing from spec.versions; ${String(version)} was previously a storage version, and must remain in spec.versions until a storage migration ensures no data remains persisted in ${String(version)} and removes ${String(version)} from status.storedVersions`;
    errors.push(fieldErrors.invalid(`status.storedVersions[${i}]`, version, text));
  });
  return errors;
}
