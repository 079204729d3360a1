import type { ApiResource } from '../builtin/resources.ts';
import { ApiError, badRequestError, expiredError, fieldErrors, invalidError } from '../errors.ts';
import { asObject, type JsonObject } from '../json.ts';
import type { RequestContext } from '../request/context.ts';
import { viewThroughResource } from '../request/object-view.ts';
import { fieldMatcher, labelMatcher, matchesBoth, type ObjectMatcher } from './selectors.ts';
import type { ApiObject } from './store.ts';

export interface ListPage {
  readonly items: readonly ApiObject[];
  readonly metadata: {
    readonly resourceVersion: string;
    readonly continue?: string;
    readonly remainingItemCount?: number;
  };
}

/** The selectors of a list or watch. */
export function matcherOf(context: RequestContext, resource: ApiResource): ObjectMatcher {
  const { query } = context.info;
  const labels = labelMatcher(query.get('labelSelector'));
  return matchesBoth(labels, fieldMatcher(query.get('fieldSelector'), resource));
}

interface ContinueToken {
  readonly revision: number;
  /** The last item of the previous page. */
  readonly after: string;
}

export function listObjects(context: RequestContext, resource: ApiResource, namespace: string | undefined): ListPage {
  const { query } = context.info;
  const limit = query.get('resourceVersion') === '0' ? 0 : Number.parseInt(query.get('limit') ?? '0', 10) || 0;
  const token = decodeContinueToken(query.get('continue'));
  const matches = matcherOf(context, resource);
  const revision = token ? pageRevision(context, token) : listRevision(context);
  const isNow = revision === context.storage.revision;
  const all = isNow
    ? context.storage.all(resource.storage, namespace)
    : context.storage.allAt(resource.storage, revision, namespace);
  const rest = token ? all.filter((object) => keyOf(object) > token.after) : all;
  const found = rest.map((object) => viewThroughResource(resource, object)).filter(matches);
  const items = limit > 0 ? found.slice(0, limit) : found;
  const last = items.at(-1);
  const remaining = found.length - items.length;
  const isSelected = query.has('labelSelector') || query.has('fieldSelector');
  return {
    items,
    metadata: {
      resourceVersion: String(revision),
      ...(remaining > 0 && last ? { continue: encodeContinueToken({ revision, after: keyOf(last) }) } : {}),
      ...(remaining > 0 && !isSelected ? { remainingItemCount: remaining } : {}),
    },
  };
}

const keyOf = ({ metadata }: ApiObject): string => `${metadata.namespace ?? ''}/${metadata.name}`;

/** The revision of a page. Throws 410 with a token for the remaining items at the current revision. */
function pageRevision({ storage, info }: RequestContext, { revision, after }: ContinueToken): number {
  if (info.query.get('resourceVersion')) {
    throw badRequestError('specifying resource version is not allowed when using continue');
  }
  if (revision < 0) return storage.revision;
  if (revision >= storage.compacted) return revision;
  const error = expiredError(
    'The provided continue parameter is too old to display a consistent list result. You can start a new list without the continue parameter, or use the continue token in this response to retrieve the remainder of the results. Continuing with the provided token results in an inconsistent list - objects that were created, modified, or deleted between the time the first chunk was returned and now may show up in the list.',
  );
  error.status.metadata['continue'] = encodeContinueToken({ revision: -1, after });
  throw error;
}

function listRevision(context: RequestContext): number {
  const { query } = context.info;
  const asked = query.get('resourceVersion') ?? '';
  const match = query.get('resourceVersionMatch') ?? '';
  if (match && !asked) {
    throw listInvalid('resourceVersionMatch', 'resourceVersionMatch is forbidden unless resourceVersion is provided');
  }
  if (asked === '' || asked === '0') return context.storage.revision;
  const revision = parseResourceVersion(asked);
  if (revision > context.storage.revision) throw versionTooLargeError(revision, context.storage.revision);
  if (match !== 'Exact') return context.storage.revision;
  if (revision < context.storage.compacted) throw expiredError(`The resourceVersion for the provided list is too old.`);
  return revision;
}

const listInvalid = (field: string, text: string): ApiError =>
  invalidError({ group: 'meta.k8s.io', plural: 'listoptions', kind: 'ListOptions' }, '', [
    fieldErrors.forbidden(field, text),
  ]);

export function parseResourceVersion(text: string): number {
  if (/^\d+$/.test(text)) return Number(text);
  throw badRequestError(
    `Invalid value: ${JSON.stringify(text)}: strconv.ParseUint: parsing ${JSON.stringify(text)}: invalid syntax`,
  );
}

/** The server has not reached this revision; clients wait and retry. */
const versionTooLargeError = (asked: number, current: number): ApiError =>
  new ApiError(504, 'Timeout', `Timeout: Too large resource version: ${asked}, current: ${current}`, {
    causes: [{ reason: 'ResourceVersionTooLarge', message: 'Too large resource version' }],
    retryAfterSeconds: 1,
  });

const encodeContinueToken = (token: ContinueToken): string => Buffer.from(JSON.stringify(token)).toString('base64url');

function decodeContinueToken(text: string | null): ContinueToken | undefined {
  if (!text) return undefined;
  try {
    const value = asObject(JSON.parse(Buffer.from(text, 'base64url').toString('utf8')));
    if (typeof value['revision'] === 'number' && typeof value['after'] === 'string')
      return value as unknown as ContinueToken;
  } catch (error) {
    throw badRequestError(`continue key is not valid: ${error instanceof Error ? error.message : error}`);
  }
  throw badRequestError('continue key is not valid: incorrect encoded start resourceVersion (version meta.k8s.io/v1)');
}

/** Items of built-in lists carry no apiVersion and kind of their own; those of custom resources do. */
export const toListItem = (resource: ApiResource, object: ApiObject): JsonObject => {
  if (resource.definition) return object;
  const { apiVersion: _apiVersion, kind: _kind, ...rest } = object;
  return rest;
};
