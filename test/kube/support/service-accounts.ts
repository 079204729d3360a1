import { expectSuccess } from './expectations.ts';
import type { Body, RawKubeClient, RawResponse } from './raw-kube-client.ts';
import type { ServerUnderTest } from './server-under-test.ts';
import { randomName } from './widgets.ts';

/** Where a server is asked who somebody is and what he may do. */
export const reviewPaths = {
  self: '/apis/authentication.k8s.io/v1/selfsubjectreviews',
  token: '/apis/authentication.k8s.io/v1/tokenreviews',
  access: '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews',
  rules: '/apis/authorization.k8s.io/v1/selfsubjectrulesreviews',
  subject: '/apis/authorization.k8s.io/v1/subjectaccessreviews',
};

/** Who the server takes one for. */
export const getUserInfo = async (wire: RawKubeClient): Promise<Body> =>
  expectSuccess(await wire.post(reviewPaths.self, {}), 201).status.userInfo;

const decodeTokenPart = (token: string, index: number): Body =>
  JSON.parse(Buffer.from(token.split('.')[index] ?? '', 'base64url').toString());

/** What a token says about itself, and what it states. */
export const tokenHeader = (token: string): Body => decodeTokenPart(token, 0);
export const tokenClaims = (token: string): Body => decodeTokenPart(token, 1);

/** ServiceAccounts of one namespace, which may be known later. */
export interface ServiceAccounts {
  path(name?: string): string;
  /** A new one. */
  make(): Promise<Body>;
  /** Asks for a token. */
  request(name: string, spec?: Body): Promise<RawResponse>;
}

export function serviceAccountsIn(server: () => ServerUnderTest, namespace: () => string): ServiceAccounts {
  const path = (name?: string) => `/api/v1/namespaces/${namespace()}/serviceaccounts${name ? `/${name}` : ''}`;
  return {
    path,
    make: async () => expectSuccess(await server().admin.post(path(), { metadata: { name: randomName() } }), 201),
    request: (name, spec = {}) => server().admin.post(`${path(name)}/token`, { spec }),
  };
}
