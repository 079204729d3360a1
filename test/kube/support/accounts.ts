import { succeeds } from './expectations.ts';
import type { ServerUnderTest } from './server-under-test.ts';
import { word } from './widgets.ts';
import type { Answer, Body, Wire } from './wire.ts';

/** Where a server is asked who somebody is and what he may do. */
export const reviews = {
  self: '/apis/authentication.k8s.io/v1/selfsubjectreviews',
  token: '/apis/authentication.k8s.io/v1/tokenreviews',
  access: '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews',
  rules: '/apis/authorization.k8s.io/v1/selfsubjectrulesreviews',
  subject: '/apis/authorization.k8s.io/v1/subjectaccessreviews',
};

/** Who the server takes one for. */
export const whoAmI = async (wire: Wire): Promise<Body> =>
  succeeds(await wire.post(reviews.self, {}), 201).status.userInfo;

const part = (token: string, index: number): Body =>
  JSON.parse(Buffer.from(token.split('.')[index] ?? '', 'base64url').toString());

/** What a token says about itself, and what it states. */
export const headerOf = (token: string): Body => part(token, 0);
export const claimsOf = (token: string): Body => part(token, 1);

/** ServiceAccounts of one namespace, which may be known later. */
export interface Accounts {
  path(name?: string): string;
  /** A new one. */
  make(): Promise<Body>;
  /** Asks for a token. */
  request(name: string, spec?: Body): Promise<Answer>;
}

export function accountsOf(server: () => ServerUnderTest, namespace: () => string): Accounts {
  const path = (name?: string) => `/api/v1/namespaces/${namespace()}/serviceaccounts${name ? `/${name}` : ''}`;
  return {
    path,
    make: async () => succeeds(await server().admin.post(path(), { metadata: { name: word() } }), 201),
    request: (name, spec = {}) => server().admin.post(`${path(name)}/token`, { spec }),
  };
}
