import { isRejection } from '../../kube/errors.ts';
import { TargetRejectionError } from '../access-request/target-cluster/rejection-collector.ts';

/** Makes calls to a published cluster, whose rejections must not be taken for those of the platform cluster. */
export async function askCluster<T>(about: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!isRejection(error)) throw error;
    throw new TargetRejectionError(`The cluster rejected a request for ${about}: ${(error as Error).message}`);
  }
}
