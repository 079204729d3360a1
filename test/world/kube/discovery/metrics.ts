import type { RequestContext } from '../request/context.ts';
import { type ApiResponse, textResponse } from '../request/response.ts';

/** A version of an API that clients have requested from a cluster. */
export interface RequestedApi {
  readonly group: string;
  readonly version: string;
  readonly resource: string;
  /** The minor of Kubernetes that removes it, e.g. `1.32`. */
  readonly removedRelease: string;
}

/**
 * A part of the metrics of kube-apiserver: the deprecated APIs that were requested (apiserver/pkg/endpoints/metrics). The
 * simulated server has none itself, so that they are given.
 */
export function metricsResponse({ requestedApis }: RequestContext): ApiResponse {
  const series = requestedApis().map(
    ({ group, version, resource, removedRelease }) =>
      `apiserver_requested_deprecated_apis{group="${group}",removed_release="${removedRelease}",resource="${resource}",subresource="",version="${version}"} 1\n`,
  );
  const head = '# TYPE apiserver_requested_deprecated_apis gauge\n';
  return textResponse(
    200,
    `# TYPE go_goroutines gauge\ngo_goroutines 900\n${series.length > 0 ? head : ''}${series.join('')}`,
  );
}
