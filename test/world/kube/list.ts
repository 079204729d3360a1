import type { Resource } from './builtin/resources.ts';
import type { Context } from './context.ts';
import { ApiError, badRequest, expired, fieldError, invalid } from './errors.ts';
import { asObject, type JsonObject } from './json.ts';
import { present } from './present.ts';
import { both, fieldMatcher, labelMatcher, type Matcher } from './selectors.ts';
import type { ApiObject } from './store.ts';

export interface Page {
  readonly items: readonly ApiObject[];
  readonly metadata: {
    readonly resourceVersion: string;
    readonly continue?: string;
    readonly remainingItemCount?: number;
  };
}

/** The selectors of a list or watch. */
export function matcherOf(context: Context, resource: Resource): Matcher {
  const { query } = context.info;
  const labels = labelMatcher(query.get('labelSelector'));
  return both(labels, fieldMatcher(query.get('fieldSelector'), resource));
}

interface Token {
  readonly revision: number;
  /** The last item that was already given. */
  readonly after: string;
}

export function list(context: Context, resource: Resource, namespace: string | undefined): Page {
  const { query } = context.info;
  const limit = query.get('resourceVersion') === '0' ? 0 : Number.parseInt(query.get('limit') ?? '0', 10) || 0;
  const token = readToken(query.get('continue'));
  const matches = matcherOf(context, resource);
  const revision = token ? pageRevision(context, token) : listRevision(context);
  const isNow = revision === context.storage.revision;
  const all = isNow
    ? context.storage.all(resource.storage, namespace)
    : context.storage.allAt(resource.storage, revision, namespace);
  const rest = token ? all.filter((object) => keyOf(object) > token.after) : all;
  const found = rest.map((object) => present(resource, object)).filter(matches);
  const items = limit > 0 ? found.slice(0, limit) : found;
  const last = items.at(-1);
  const remaining = found.length - items.length;
  const isSelected = query.has('labelSelector') || query.has('fieldSelector');
  return {
    items,
    metadata: {
      resourceVersion: String(revision),
      ...(remaining > 0 && last ? { continue: writeToken({ revision, after: keyOf(last) }) } : {}),
      ...(remaining > 0 && !isSelected ? { remainingItemCount: remaining } : {}),
    },
  };
}

const keyOf = ({ metadata }: ApiObject): string => `${metadata.namespace ?? ''}/${metadata.name}`;

/** The revision that a page is of. Throws 410 with a token for the rest as it is now. */
function pageRevision({ storage, info }: Context, { revision, after }: Token): number {
  if (info.query.get('resourceVersion')) {
    throw badRequest('specifying resource version is not allowed when using continue');
  }
  if (revision < 0) return storage.revision;
  if (revision >= storage.compacted) return revision;
  const error = expired(
    'The provided continue parameter is too old to display a consistent list result. You can start a new list without the continue parameter, or use the continue token in this response to retrieve the remainder of the results. Continuing with the provided token results in an inconsistent list - objects that were created, modified, or deleted between the time the first chunk was returned and now may show up in the list.',
  );
  error.status.metadata['continue'] = writeToken({ revision: -1, after });
  throw error;
}

function listRevision(context: Context): number {
  const { query } = context.info;
  const asked = query.get('resourceVersion') ?? '';
  const match = query.get('resourceVersionMatch') ?? '';
  if (match && !asked) {
    throw listInvalid('resourceVersionMatch', 'resourceVersionMatch is forbidden unless resourceVersion is provided');
  }
  if (asked === '' || asked === '0') return context.storage.revision;
  const revision = parseVersion(asked);
  if (revision > context.storage.revision) throw tooLarge(revision, context.storage.revision);
  if (match !== 'Exact') return context.storage.revision;
  if (revision < context.storage.compacted) throw expired(`The resourceVersion for the provided list is too old.`);
  return revision;
}

const listInvalid = (field: string, text: string): ApiError =>
  invalid({ group: 'meta.k8s.io', plural: 'listoptions', kind: 'ListOptions' }, '', [
    fieldError.forbidden(field, text),
  ]);

export function parseVersion(text: string): number {
  if (/^\d+$/.test(text)) return Number(text);
  throw badRequest(
    `Invalid value: ${JSON.stringify(text)}: strconv.ParseUint: parsing ${JSON.stringify(text)}: invalid syntax`,
  );
}

/** The server has not got there yet; clients wait and ask again. */
const tooLarge = (asked: number, current: number): ApiError =>
  new ApiError(504, 'Timeout', `Timeout: Too large resource version: ${asked}, current: ${current}`, {
    causes: [{ reason: 'ResourceVersionTooLarge', message: 'Too large resource version' }],
    retryAfterSeconds: 1,
  });

const writeToken = (token: Token): string => Buffer.from(JSON.stringify(token)).toString('base64url');

function readToken(text: string | null): Token | undefined {
  if (!text) return undefined;
  try {
    const value = asObject(JSON.parse(Buffer.from(text, 'base64url').toString('utf8')));
    if (typeof value['revision'] === 'number' && typeof value['after'] === 'string') return value as unknown as Token;
  } catch (error) {
    throw badRequest(`continue key is not valid: ${error instanceof Error ? error.message : error}`);
  }
  throw badRequest('continue key is not valid: incorrect encoded start resourceVersion (version meta.k8s.io/v1)');
}

/** Items of built-in lists carry no apiVersion and kind of their own; those of custom resources do. */
export const listItem = (resource: Resource, object: ApiObject): JsonObject => {
  if (resource.definition) return object;
  const { apiVersion: _apiVersion, kind: _kind, ...rest } = object;
  return rest;
};
