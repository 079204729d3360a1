import type { KubeClient } from '../kube/client/client.ts';
import type { AccessAttributes } from '../kube/client/client-types.ts';
import { SubjectAccessReview, TokenReview, type TokenUser } from '../kube/core-types.ts';
import type { KubeObject, ResourceType } from '../kube/resource.ts';

export type ReviewClient = Pick<KubeClient, 'create'>;

const reviewHeader = <T extends KubeObject>({ kind, group, version }: ResourceType<T>) => ({
  ...{ apiVersion: `${group}/${version}`, kind },
  // Reviews are not stored, and have no name.
  metadata: {} as T['metadata'],
});

/** The user of the token; undefined when the token is invalid. */
export async function reviewToken(
  client: ReviewClient,
  token: string,
  signal: AbortSignal,
): Promise<TokenUser | undefined> {
  const { status } = await client.create(TokenReview, { ...reviewHeader(TokenReview), spec: { token } }, signal);
  return status?.authenticated === true && status.user?.username ? status.user : undefined;
}

/** Whether the user may do this: a verb at one of the provider's own paths, or on a kind. */
export async function reviewUserAccess(
  client: ReviewClient,
  { username = '', uid, groups = [], extra }: TokenUser,
  access: AccessAttributes,
  signal: AbortSignal,
): Promise<boolean> {
  const attributes = 'path' in access ? { nonResourceAttributes: access } : { resourceAttributes: access };
  const spec = { user: username, groups, ...(uid && { uid }), ...(extra && { extra }), ...attributes };
  const { status } = await client.create(SubjectAccessReview, { ...reviewHeader(SubjectAccessReview), spec }, signal);
  return status?.allowed === true;
}
