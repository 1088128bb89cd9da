// Arrays: a vector is an array of numbers, a matrix is an array of vectors, which are its rows

export function sum(vector) {
  let total = 0;
  for (let index = 0; index < vector.length; index++) {
    total += vector[index];
  }
  return total;
}

export function mean(vector) {
  return sum(vector) / vector.length;
}

export function largest(vector) { // Return the place of the largest number.
  let place = 0;
  for (let index = 1; index < vector.length; index++) {
    if (vector[index] > vector[place]) {
      place = index;
    }
  }
  return place;
}

export function range(length) {
  return Array.from({ length }, (_, index) => index);
}

export function transpose(matrix) {
  return range(matrix[0].length).map((column) => matrix.map((row) => row[column]));
}

export function addVectors(left, right) {
  return left.map((number, index) => number + right[index]);
}

export function add(left, right) {
  return left.map((row, index) => addVectors(row, right[index]));
}

export function dot(left, right) {
  let total = 0;
  for (let index = 0; index < left.length; index++) {
    total += left[index] * right[index];
  }
  return total;
}

export function addScaled(target, scale, vector) { // target += scale · vector
  for (let index = 0; index < target.length; index++) {
    target[index] += scale * vector[index];
  }
}

export function matmul(left, right, bias = right[0].map(() => 0)) { // Loops, not map: a training does this very often.
  return left.map((row) => {
    const sums = bias.slice();
    for (let index = 0; index < row.length; index++) {
      if (row[index] !== 0) { // Most of a one-hot vector is 0.
        addScaled(sums, row[index], right[index]);
      }
    }
    return sums;
  });
}

export function softmax(numbers) {
  const chances = numbers.slice();
  const highest = numbers[largest(numbers)]; // It cancels in the division; without it, exp could overflow.
  for (let index = 0; index < numbers.length; index++) {
    chances[index] = Math.exp(numbers[index] - highest);
  }
  const total = sum(chances);
  for (let index = 0; index < numbers.length; index++) {
    chances[index] /= total;
  }
  return chances;
}

export function relu(matrix) {
  return matrix.map((row) => row.map((number) => Math.max(0, number)));
}
