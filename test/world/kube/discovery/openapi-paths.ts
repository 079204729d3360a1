import { type ApiResource, apiVersionOfResource } from '../builtin/resources.ts';
import type { JsonObject } from '../json.ts';
import { schemaName } from './openapi-schemas.ts';

const parameter = (name: string, type = 'string') => ({ name, in: 'query', schema: { type, uniqueItems: true } });
const writing = [parameter('dryRun'), parameter('fieldManager'), parameter('fieldValidation')];

/** The paths of a kind with the methods and parameters that kubectl requires. */
export function openApiPaths(resource: ApiResource): JsonObject {
  const { group, version, kind, plural, namespaced, virtual } = resource;
  const root = `/${group ? 'apis' : 'api'}/${apiVersionOfResource(resource)}`;
  const collection = `${root}${namespaced ? '/namespaces/{namespace}' : ''}/${plural}`;
  const body = { 'application/json': { schema: { $ref: `#/components/schemas/${schemaName(resource, kind)}` } } };
  const operation = (action: string, parameters: readonly JsonObject[] = []) => ({
    tags: [apiVersionOfResource(resource).replace('/', '_')],
    operationId: `${action}_${apiVersionOfResource(resource)}_${kind}`.replace(/[^\w]/g, '_'),
    parameters,
    responses: { '200': { description: 'OK', content: body } },
    'x-kubernetes-action': action,
    'x-kubernetes-group-version-kind': { group, kind, version },
  });
  const create = { post: operation('post', writing) };
  if (virtual) return { [collection]: create };
  const patchTypes = ['application/apply-patch+yaml', 'application/json-patch+json', 'application/merge-patch+json'];
  const patch = {
    ...operation('patch', [...writing, parameter('force', 'boolean')]),
    requestBody: { content: Object.fromEntries(patchTypes.map((type) => [type, { schema: { type: 'object' } }])) },
  };
  return {
    [collection]: { get: operation('list'), ...create, delete: operation('deletecollection', writing) },
    [`${collection}/{name}`]: {
      get: operation('get'),
      put: operation('put', writing),
      patch,
      delete: operation('delete', writing),
    },
  };
}
