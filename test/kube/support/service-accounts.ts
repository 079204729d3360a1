import { expectSuccess } from './expectations.ts';
import type { Body, RawKubeClient, RawResponse } from './raw-kube-client.ts';
import type { ServerUnderTest } from './server-under-test.ts';
import { randomName } from './widgets.ts';

/** The paths of identity and access reviews. */
export const reviewPaths = {
  self: '/apis/authentication.k8s.io/v1/selfsubjectreviews',
  token: '/apis/authentication.k8s.io/v1/tokenreviews',
  access: '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews',
  rules: '/apis/authorization.k8s.io/v1/selfsubjectrulesreviews',
  subject: '/apis/authorization.k8s.io/v1/subjectaccessreviews',
};

/** The user of the client's requests, as the server reports it. */
export const getUserInfo = async (wire: RawKubeClient): Promise<Body> =>
  expectSuccess(await wire.post(reviewPaths.self, {}), 201).status.userInfo;

const decodeTokenPart = (token: string, index: number): Body =>
  JSON.parse(Buffer.from(token.split('.')[index] ?? '', 'base64url').toString());

/** The header and the claims of a token. */
export const tokenHeader = (token: string): Body => decodeTokenPart(token, 0);
export const tokenClaims = (token: string): Body => decodeTokenPart(token, 1);

/** ServiceAccounts of one namespace, whose name is read at each call. */
export interface ServiceAccounts {
  path(name?: string): string;
  /** Creates an account. */
  make(): Promise<Body>;
  /** Requests a token. */
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
