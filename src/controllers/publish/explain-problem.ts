import { isRejection, KubeError } from '../../kube/errors.ts';
import { explainFailure } from '../access-request/explain-failure.ts';
import type { FormAction, PublicationProblem } from './decide-form.ts';
import type { Publication } from './publication.ts';

/** The actions whose rejections are those of the published cluster. */
const inCluster: readonly FormAction['kind'][] = ['ensure-access', 'read-signing-keys'];
/** The actions that make no calls to it. */
const onPlatform: readonly FormAction['kind'][] = [
  'seek-secret',
  'remove-former-secret',
  'restore-marks',
  'report-health',
];

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
  if (isRejection(error) && !inCluster.includes(action))
    return {
      reason: 'PublishRejected',
      message: `spec.publish.${form}: the platform cluster rejected the request: ${(error as Error).message}`,
    };
  return onPlatform.includes(action) ? undefined : explainFailure(error);
}

/** 404 for a namespace, although an object in it was named. */
const isMissingNamespace = (error: unknown, namespace: string): boolean =>
  error instanceof KubeError &&
  error.status === 404 &&
  error.details.kind === 'namespaces' &&
  error.details.name === namespace;
