export type HttpMethod = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

/** Undefined values are omitted. */
export type QueryParameters = Readonly<Record<string, string | number | boolean | undefined>>;

/** The target of a call, for messages and metrics. */
export interface RequestTarget {
  readonly method: HttpMethod;
  /** From the API's root, e.g. `/api/v1/namespaces`. */
  readonly path: string;
}

export interface KubeRequest extends RequestTarget {
  readonly query?: QueryParameters;
  /** Sent as JSON. */
  readonly body?: unknown;
  /** Default `application/json`. */
  readonly contentType?: string;
  /** Default `application/json`. */
  readonly accept?: string;
  readonly signal?: AbortSignal | undefined;
  readonly deadlineSeconds: number;
  /** Size limit of the response; default: the limit of this server. */
  readonly maxBytes?: number | undefined;
  /** Receives the length of the response. */
  readonly received?: (bytes: number) => void;
}
