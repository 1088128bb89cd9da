// What a file or an address holds, and a reason to refuse it

export function has(object, name) {
  return Object.prototype.hasOwnProperty.call(object, name);
}

export function refuse(condition, reason, edited = "") {
  if (condition) {
    const error = new Error(reason);
    const whose = `this is a model of an edited ${edited}, which this page cannot compute`;
    error.reason = edited ? `${whose}: ${reason}` : reason;
    throw error;
  }
}
