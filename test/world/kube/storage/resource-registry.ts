import { type ApiResource, builtinResources, type PrinterColumn, type ScalePaths } from '../builtin/resources.ts';
import { asArray, asObject, asText, isObject } from '../json.ts';
import type { ObjectSchema } from '../schema/schema.ts';
import type { ApiObject, ObjectStorage } from './store.ts';

export const definitionStorage = 'apiextensions.k8s.io/customresourcedefinitions';

/** Finds resources: the built-in ones and those of established CustomResourceDefinitions. */
export class ResourceRegistry {
  readonly #storage: ObjectStorage;
  /** Keyed by the definition object: it is replaced, never changed, so an entry is never stale. */
  readonly #custom = new WeakMap<ApiObject, readonly ApiResource[]>();

  constructor(storage: ObjectStorage) {
    this.#storage = storage;
  }

  /** All current resources. */
  all(): ApiResource[] {
    return [...builtinResources, ...this.#definitions().flatMap((definition) => this.#resourcesOf(definition))];
  }

  find(group: string, version: string, plural: string): ApiResource | undefined {
    const known = builtinResources.find((r) => r.group === group && r.version === version && r.plural === plural);
    if (known) return known;
    const definition = this.#storage.read(definitionStorage, undefined, `${plural}.${group}`);
    if (!definition || !isEstablished(definition)) return undefined;
    return this.#resourcesOf(definition).find((resource) => resource.version === version);
  }

  /** Any served version of a kind, by the group and kind of an owner reference. */
  findKind(apiVersion: string, kind: string): ApiResource | undefined {
    const group = apiVersion.includes('/') ? (apiVersion.split('/')[0] ?? '') : '';
    return this.all().find((resource) => resource.group === group && resource.kind === kind && !resource.virtual);
  }

  #definitions(): ApiObject[] {
    return this.#storage.all(definitionStorage).filter(isEstablished);
  }

  #resourcesOf(definition: ApiObject): readonly ApiResource[] {
    const known = this.#custom.get(definition);
    if (known) return known;
    const made = describeDefinition(definition);
    this.#custom.set(definition, made);
    return made;
  }
}

export const conditionStatusOf = (object: ApiObject, type: string): string | undefined => {
  const found = asArray(asObject(object['status'])['conditions']).find((c) => asObject(c)['type'] === type);
  return found ? asText(asObject(found)['status']) : undefined;
};

const isEstablished = (definition: ApiObject): boolean => conditionStatusOf(definition, 'Established') === 'True';

const names = (value: unknown): string[] => asArray(value).map(String);

function describeDefinition(definition: ApiObject): ApiResource[] {
  const spec = asObject(definition['spec']);
  const accepted = asObject(spec['names']);
  const group = asText(spec['group']);
  const plural = asText(accepted['plural']);
  return asArray(spec['versions'])
    .map(asObject)
    .filter((version) => version['served'] === true)
    .map((version) => ({
      group,
      version: asText(version['name']),
      kind: asText(accepted['kind']),
      listKind: asText(accepted['listKind']) || `${asText(accepted['kind'])}List`,
      plural,
      singular: asText(accepted['singular']) || asText(accepted['kind']).toLowerCase(),
      shortNames: names(accepted['shortNames']),
      categories: names(accepted['categories']),
      namespaced: spec['scope'] === 'Namespaced',
      storage: `${group}/${plural}`,
      schema: asObject(asObject(version['schema'])['openAPIV3Schema']) as ObjectSchema,
      subresources: (['status', 'scale'] as const).filter((name) => isObject(asObject(version['subresources'])[name])),
      generation: true,
      createOnUpdate: false,
      unconditionalUpdate: false,
      virtual: false,
      selectable: asArray(version['selectableFields']).map((field) =>
        asText(asObject(field)['jsonPath']).replace(/^\./, ''),
      ),
      definition: {
        name: definition.metadata.name,
        uid: definition.metadata.uid ?? '',
        columns: asArray(version['additionalPrinterColumns']) as readonly PrinterColumn[],
        scale: asObject(version['subresources'])['scale'] as ScalePaths | undefined,
      },
    }));
}
