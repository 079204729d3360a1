import { createHash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { RequestContext } from '../request/context.ts';
import { type ApiResponse, okResponse, textResponse } from '../request/response.ts';
import { apiGroupDocument, apiGroupListDocument, apiResourceListDocument, apiVersionsDocument } from './documents.ts';
import { groupsOf } from './groups.ts';
import { healthResponse } from './health.ts';
import { metricsResponse } from './metrics.ts';
import { openApiV2, openApiV3, openApiV3Index } from './openapi.ts';
import { jwksResponse } from './openid.ts';
import { versionInfo } from './version.ts';

/** Answers the paths without a resource: discovery, health, version and OpenAPI. */
export function handleDiscovery(context: RequestContext, message: IncomingMessage): ApiResponse {
  const path = context.info.path.replace(/(?<=.)\/+$/, '');
  const [first, second, third, ...more] = path.slice(1).split('/');
  if (more.length === 0 && (first === 'api' || first === 'apis')) {
    return first === 'api'
      ? coreDiscovery(context, message, second, third)
      : groupDiscovery(context, message, second, third);
  }
  switch (path) {
    case '/':
      return okResponse({ paths: rootPaths(context) });
    case '/version':
      return okResponse(versionInfo(context.gitVersion));
    case '/metrics':
      return metricsResponse(context);
    case '/openapi/v2':
      return withEtag(message, openApiV2(context.registry, context.gitVersion));
    case '/openapi/v3':
      return withEtag(message, openApiV3Index(context.registry));
    case '/openid/v1/jwks':
      return jwksResponse(context, message);
  }
  const document = first === 'openapi' && openApiV3(context.registry, path.slice('/openapi/v3/'.length));
  if (document) return withEtag(message, document);
  return healthResponse(context, path) ?? notFoundResponse();
}

const notFoundResponse = (): ApiResponse => textResponse(404, '404 page not found\n');

function coreDiscovery(
  context: RequestContext,
  message: IncomingMessage,
  version?: string,
  more?: string,
): ApiResponse {
  if (more !== undefined) return notFoundResponse();
  const [group] = groupsOf(context.registry).filter((one) => one.name === '');
  if (!group) return notFoundResponse();
  if (version === undefined) {
    return withEtag(message, apiVersionsDocument(group, context.url()));
  }
  const found = group.versions.find((one) => one.name === version);
  return found ? withEtag(message, apiResourceListDocument(group, found)) : notFoundResponse();
}

function groupDiscovery(
  context: RequestContext,
  message: IncomingMessage,
  name?: string,
  version?: string,
): ApiResponse {
  const all = groupsOf(context.registry).filter((one) => one.name !== '');
  if (name === undefined) return withEtag(message, apiGroupListDocument(all));
  const group = all.find((one) => one.name === name);
  if (!group) return notFoundResponse();
  if (version === undefined) return withEtag(message, apiGroupDocument(group, true));
  const found = group.versions.find((one) => one.name === version);
  return found ? withEtag(message, apiResourceListDocument(group, found)) : notFoundResponse();
}

/** A document with an ETag, so that clients can revalidate their copy. */
function withEtag(message: IncomingMessage, document: unknown): ApiResponse {
  const body = `${JSON.stringify(document)}\n`;
  const tag = `"${createHash('sha256').update(body).digest('hex').toUpperCase()}"`;
  const headers = { ETag: tag, Vary: 'Accept' };
  const contentType = 'application/json';
  if (message.headers['if-none-match'] === tag) return { code: 304, body: '', contentType, headers };
  return { code: 200, body, contentType, headers };
}

function rootPaths({ registry }: RequestContext): string[] {
  const paths = groupsOf(registry).flatMap(({ name, versions }) => {
    const root = name ? `/apis/${name}` : '/api';
    return [root, ...versions.map((version) => `${root}/${version.name}`)];
  });
  return [
    ...paths,
    '/apis',
    '/healthz',
    '/livez',
    '/metrics',
    '/openapi/v2',
    '/openapi/v3',
    '/openid/v1/jwks',
    '/readyz',
    '/version',
  ].sort();
}
