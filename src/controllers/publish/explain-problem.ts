import { isRejection, KubeError } from '../../kube/errors.ts';
import { explainFailure } from '../access-request/explain-failure.ts';
import type { FormAction, PublicationProblem } from './decide-form.ts';
import type { Publication } from './publication.ts';

/** The actions whose calls go to the published cluster. */
const inCluster: readonly FormAction['kind'][] = ['ensure-access', 'read-signing-keys'];

/** Undefined for an error that is neither the user's nor the published cluster's. */
export function explainProblem(
  error: unknown,
  { form, namespace }: Pick<Publication, 'form' | 'namespace'>,
  action: FormAction['kind'],
): PublicationProblem | undefined {
  if (isMissingNamespace(error, namespace))
    return {
      reason: 'NamespaceMissing',
      message: `spec.publish.${form}.namespace: there is no namespace ${namespace} on the platform cluster. Create it: kubectl create namespace ${namespace}`,
    };
  // A token is requested from the cluster and stored on the platform cluster: the path tells which one has answered.
  const isPlatform = !inCluster.includes(action) && error instanceof KubeError && !isOfCluster(error);
  if (isPlatform && isRejection(error))
    return {
      reason: 'PublishRejected',
      message: `spec.publish.${form}: the platform cluster rejected the request: ${(error as Error).message}`,
    };
  return explainFailure(error);
}

const isOfCluster = ({ message }: KubeError): boolean => /serviceaccounts|selfsubjectreviews|clusterproperties/.test(message);

/** 404 for a namespace, although an object in it was named. */
export const isMissingNamespace = (error: unknown, namespace: string): boolean =>
  error instanceof KubeError &&
  error.status === 404 &&
  error.details.kind === 'namespaces' &&
  error.details.name === namespace;
